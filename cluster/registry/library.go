package registry

import (
	"strconv"
	"strings"
)

// library are Docker's official images, docker.io/library: the repositories that a name
// without a slash can mean. Whoever writes "ngnix" gets none of them.
var library = set(`
	adminer aerospike almalinux alpine alt amazoncorretto amazonlinux api-firewall arangodb archlinux backdrop bash bonita
	buildpack-deps busybox caddy cassandra centos chronograf cirros clearlinux clefos clickhouse clojure composer convertigo
	couchbase couchdb crate dart debian docker drupal eclipse-mosquitto eclipse-temurin eggdrop elasticsearch elixir emqx
	erlang fedora flink fluentd friendica gazebo gcc geonetwork ghost golang gradle groovy haproxy haskell haxe hello-world
	hitch httpd hylang ibm-semeru-runtimes ibmjava influxdb irssi java jenkins jetty joomla jruby julia kapacitor kibana kong
	krakend lightstreamer liquibase logstash mageia mariadb matomo maven mediawiki memcached mongo mongo-express monica mono
	mysql nats nats-streaming neo4j neurodebian nextcloud nginx node notary odoo open-liberty openjdk opensuse oraclelinux
	orientdb percona perl photon php phpmyadmin plone postfixadmin postgres pypy python r-base rabbitmq rakudo-star redis
	redmine registry rethinkdb rocket.chat rockylinux ros ruby rust sapmachine satosa silverpeas sl solr sonarqube
	sourcemage spark spiped storm swift swipl teamspeak telegraf tomcat tomee traefik ubuntu unit valkey varnish vault
	websphere-liberty wordpress xwiki yourls znc zookeeper`)

// newest are the highest major versions of the best-known of them.
var newest = map[string]int{
	"alpine": 3, "busybox": 1, "caddy": 2, "debian": 13, "elasticsearch": 9, "golang": 1, "haproxy": 3, "httpd": 2, "kibana": 9,
	"mariadb": 12, "memcached": 1, "mongo": 8, "mysql": 9, "nats": 2, "nginx": 1, "node": 26, "php": 8, "postgres": 18, "python": 3,
	"rabbitmq": 4, "redis": 8, "registry": 3, "ruby": 4, "tomcat": 11, "traefik": 3, "ubuntu": 26, "valkey": 9, "wordpress": 7,
}

func set(words string) map[string]bool {
	in := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		in[word] = true
	}
	return in
}

// official gives the name of an image within docker.io/library.
func official(repo string) (string, bool) { return strings.CutPrefix(repo, "docker.io/library/") }

// noRepository reports whether there is no such repository.
func noRepository(repo string) bool {
	name, ok := official(repo)
	return missing(repo) || ok && !library[name]
}

// noTag reports whether the repository has no such tag: a version above the newest. What
// has more than four digits is a date.
func noTag(repo, tag string) bool {
	if missing(tag) {
		return true
	}
	name, _ := official(repo)
	highest, known := newest[name]
	digits := len(tag) - len(strings.TrimLeft(tag, "0123456789"))
	if !known || digits == 0 || digits > 4 {
		return false
	}
	major, err := strconv.Atoi(tag[:digits])
	return err == nil && major > highest
}
