package images

// The programs of the systems that images are built on.
var (
	// busybox are the applets of Docker's busybox (1.37, defconfig).
	busybox = words(`
		[ [[ acpid add-shell addgroup adduser adjtimex arch arp arping ascii ash awk base32 base64 basename bc beep blkdiscard blkid blockdev
		bootchartd brctl bunzip2 bzcat bzip2 cal cat chat chattr chgrp chmod chown chpasswd chpst chroot chrt chvt cksum clear cmp comm conspy
		cp cpio crc32 crond crontab cryptpw cttyhack cut date dc dd deallocvt delgroup deluser depmod devmem df dhcprelay diff dirname dmesg
		dnsd dnsdomainname dos2unix dpkg dpkg-deb du dumpkmap dumpleases echo ed egrep eject env envdir envuidgid ether-wake expand expr factor
		fakeidentd fallocate false fatattr fbset fbsplash fdflush fdformat fdisk fgconsole fgrep find findfs flock fold free freeramdisk fsck
		fsck.minix fsfreeze fstrim fsync ftpd ftpget ftpput fuser getconf getfattr getopt getty grep groups gunzip gzip halt hd hdparm head
		hexdump hexedit hostid hostname httpd hush hwclock i2cdetect i2cdump i2cget i2cset i2ctransfer id ifconfig ifdown ifenslave ifplugd
		ifup inetd init insmod install ionice iostat ip ipaddr ipcalc ipcrm ipcs iplink ipneigh iproute iprule iptunnel kbd_mode kill killall
		killall5 klogd last less link linux32 linux64 linuxrc ln loadfont loadkmap logger login logname logread losetup lpd lpq lpr ls lsattr
		lsmod lsof lspci lsscsi lsusb lzcat lzma lzop makedevs makemime man md5sum mdev mesg microcom mim mkdir mkdosfs mke2fs mkfifo
		mkfs.ext2 mkfs.minix mkfs.vfat mknod mkpasswd mkswap mktemp modinfo modprobe more mount mountpoint mpstat mt mv nameif nanddump
		nandwrite nbd-client nc netstat nice nl nmeter nohup nologin nproc nsenter nslookup ntpd od openvt partprobe passwd paste patch pgrep
		pidof ping ping6 pipe_progress pivot_root pkill pmap popmaildir poweroff powertop printenv printf ps pscan pstree pwd pwdx raidautorun
		rdate rdev readahead readlink readprofile realpath reboot reformime remove-shell renice reset resize resume rev rm rmdir rmmod route
		rpm rpm2cpio rtcwake run-init run-parts runlevel runsv runsvdir rx script scriptreplay sed seedrng sendmail seq setarch setconsole
		setfattr setfont setkeycodes setlogcons setpriv setserial setsid setuidgid sh sha1sum sha256sum sha3sum sha512sum showkey shred shuf
		slattach sleep smemcap softlimit sort split ssl_client start-stop-daemon stat strings stty su sulogin sum sv svc svlogd svok swapoff
		swapon switch_root sync sysctl syslogd tac tail tar taskset tc tcpsvd tee telnet telnetd test tftp tftpd time timeout top touch tr
		traceroute traceroute6 tree true truncate ts tsort tty ttysize tunctl ubiattach ubidetach ubimkvol ubirename ubirmvol ubirsvol
		ubiupdatevol udhcpc udhcpc6 udhcpd udpsvd uevent umount uname unexpand uniq unix2dos unlink unlzma unshare unxz unzip uptime users
		usleep uudecode uuencode vconfig vi vlock volname w wall watch watchdog wc wget which who whoami whois xargs xxd xz xzcat yes zcat
		zcip`)
	alpine = union(busybox, words(`apk scanelf ldd iconv getent ldconfig ssl_client zdump zic findssl.sh c_rehash`))

	// debian are the programs of Docker's debian and of what is built on it; ubuntu's are nearly
	// the same. There is no ps in it, nor ping, ip, curl or wget. The last row is in those built on it only.
	debian = words(`
		[ addgroup adduser addpart agetty apt apt-cache apt-cdrom apt-config apt-get apt-key apt-mark arch awk b2sum badblocks base32 base64
		basename basenc bash bashbug blkdiscard blkid blkzone blockdev captoinfo cat catchsegv cfdisk chage chattr chcon chcpu chfn chgpasswd
		chgrp chmem chmod choom chown chpasswd chroot chrt chsh cksum clear clear_console cmp comm cp cpgr cppw csplit ctrlaltdel cut dash
		date dd deb-systemd-helper deb-systemd-invoke debconf debconf-show debugfs delgroup delpart deluser df diff diff3 dir dircolors dirname
		dmesg dnsdomainname domainname dpkg dpkg-deb dpkg-query dpkg-reconfigure dpkg-split du dumpe2fs e2fsck e2image e2label echo egrep env
		expand expiry expr factor faillock faillog fallocate false fdisk fgrep filefrag fincore find findfs findmnt flock fmt fold fsck
		fsfreeze fstrim getconf getent getopt getty gpasswd gpgv grep groupadd groupdel groupmod groups grpck grpconv gunzip gzexe gzip head
		hostid hostname hwclock i386 iconv id infocmp infotocap install invoke-rc.d ionice ipcmk ipcrm ipcs isosize join kill killall5 last
		lastb lastlog ldattach ldconfig ldd link linux32 linux64 ln locale localedef logger login logname logsave losetup ls lsattr lsblk
		lscpu lsfd lsipc lsirq lslocks lslogins lsmem lsns mawk mcookie md5sum mesg mke2fs mkdir mkfifo mkfs mkhomedir_helper mknod mkswap
		mktemp more mount mountpoint mv namei nawk newgrp newusers nice nisdomainname nl nohup nologin nproc nsenter numfmt od pager
		pam_getenv partx passwd paste pathchk perl pidof pinky pivot_root pldd pr printenv printf prlimit ptx pwck pwconv pwd raw rbash
		readlink readprofile realpath rename.ul renice reset resize2fs resizepart rev rgrep rm rmdir rtcwake run-parts runcon runuser savelog
		script scriptlive scriptreplay sdiff sed select-editor sensible-browser sensible-editor sensible-pager seq service setarch setpriv
		setsid setterm sfdisk sg sh sha1sum sha224sum sha256sum sha384sum sha512sum shadowconfig shred shuf sleep sort split sqv
		start-stop-daemon stat stdbuf stty su sulogin sum swaplabel swapoff swapon switch_root sync tabs tac tail tar taskset tee tempfile
		test tic timeout toe touch tput tr true truncate tset tsort tty tune2fs tzselect uclampset umount uname uncompress unexpand uniq
		unix_chkpwd unix_update unlink unshare update-alternatives update-passwd update-rc.d useradd userdel usermod users utmpdump vdir vigr
		vipw wall wc wdctl which who whoami wipefs write xargs yes ypdomainname zcat zcmp zdiff zdump zegrep zfgrep zforce zgrep zic zless
		zmore znew zramctl
		openssl c_rehash update-ca-certificates`)
)

// scratch is the empty base.
var scratch = map[string]bool{}

// Of nginx's two images.
var (
	nginx = words(`nginx nginx-debug njs envsubst curl docker-entrypoint.sh`)
	start = "/docker-entrypoint.sh"
)

// catalogue are the well-known images by repository. A user is entered where the image's
// build file says so; "" is root.
var catalogue = map[string]Image{
	"docker.io/library/busybox": {Entry: Nothing, base: busybox},
	"docker.io/library/alpine":  {Entry: Nothing, base: alpine},
	"docker.io/library/debian":  {Entry: Nothing, base: debian},
	"docker.io/library/ubuntu":  {Entry: Nothing, base: debian},
	"docker.io/library/bash":    {Entry: Script, base: alpine, own: words(`bash docker-entrypoint.sh`)},
	"docker.io/curlimages/curl": {User: "curl_user", Entry: Script, base: alpine, own: words(`curl entrypoint.sh`), files: "/entrypoint.sh"},

	"docker.io/library/nginx":               {Serves: 80, Entry: Script, base: debian, own: nginx, files: start},
	"docker.io/nginxinc/nginx-unprivileged": {User: "101", Serves: 8080, Entry: Script, base: debian, own: nginx, files: start},
	"docker.io/nginxdemos/hello":            {Serves: 80, Entry: Script},
	"docker.io/library/httpd": {Serves: 80, Entry: Nothing, base: debian, own: words(`
		ab apachectl apr-1-config apu-1-config apxs checkgid dbmmanage fcgistarter htcacheclean htdbm htdigest htpasswd httpd
		httpd-foreground httxt2dbm logresolve rotatelogs`)},
	"docker.io/library/caddy":  {Serves: 80, Entry: Nothing, base: alpine, own: words(`caddy`)},
	"docker.io/traefik/whoami": {Serves: 80, base: scratch, files: "/whoami"},
	"docker.io/library/redis": {Serves: 6379, Entry: Script, base: debian, own: words(`
		redis-server redis-cli redis-benchmark redis-sentinel redis-check-aof redis-check-rdb gosu docker-entrypoint.sh`)},
	"docker.io/library/memcached": {User: "memcache", Serves: 11211, Entry: Script, base: debian, own: words(`memcached docker-entrypoint.sh`)},
	"docker.io/library/postgres": {Serves: 5432, Entry: Script, base: debian, own: words(`
		clusterdb createdb createuser dropdb dropuser initdb oid2name pg_amcheck pg_archivecleanup pg_basebackup pg_checksums pg_combinebackup
		pg_config pg_controldata pg_createsubscriber pg_ctl pg_dump pg_dumpall pg_isready pg_receivewal pg_recvlogical pg_resetwal pg_restore
		pg_rewind pg_test_fsync pg_test_timing pg_upgrade pg_verifybackup pg_waldump pg_walsummary pgbench postgres psql reindexdb vacuumdb
		vacuumlo gosu pg_lsclusters pg_ctlcluster pg_createcluster pg_dropcluster pg_conftool pg_renamecluster pg_upgradecluster pg_virtualenv
		xz zstd less docker-entrypoint.sh docker-ensure-initdb.sh docker-enforce-initdb.sh`)},
	"docker.io/library/mongo":    {Serves: 27017, Entry: Script},
	"docker.io/library/rabbitmq": {Serves: 5672, Entry: Script},
	"docker.io/library/mysql":    {Serves: 3306, Entry: Script},
	"docker.io/library/mariadb":  {Serves: 3306, Entry: Script},

	"docker.io/hashicorp/http-echo":                         {User: "65532", Serves: 5678, base: scratch, files: "/http-echo /bin/http-echo"},
	"registry.k8s.io/hpa-example":                           {Serves: 80, Entry: Script, base: debian},
	"registry.k8s.io/echoserver":                            {Serves: 8080},
	"registry.k8s.io/e2e-test-images/agnhost":               {Serves: 8080},
	"registry.k8s.io/e2e-test-images/resource-consumer":     {Serves: 8080},
	"registry.k8s.io/busybox":                               {Entry: Nothing, base: busybox},
	"registry.k8s.io/e2e-test-images/busybox":               {Entry: Nothing, base: busybox},
	"registry.k8s.io/pause":                                 {User: "65535", base: scratch, files: "/pause"},
	"registry.k8s.io/ingress-nginx/controller":              {User: "www-data"},
	"docker.io/nicolaka/netshoot":                           {Entry: Nothing},
	"registry.k8s.io/metrics-server/metrics-server":         {User: "65534", Simulated: true},
	"registry.k8s.io/prometheus-adapter/prometheus-adapter": {User: "65534", Simulated: true},
	"registry.k8s.io/kube-scheduler":                        {Serves: 10259, Simulated: true, base: scratch, own: words(`kube-scheduler`), files: "/go-runner"},
	"registry.k8s.io/descheduler/descheduler":               {User: "1000", Serves: 10258, Entry: Nothing, Simulated: true, base: scratch, own: words(`descheduler`)},

	"docker.io/grafana/grafana":         {User: "472"},
	"docker.io/grafana/loki":            {User: "10001"},
	"docker.io/prom/prometheus":         {User: "nobody"},
	"docker.io/prom/alertmanager":       {User: "nobody"},
	"docker.io/prom/node-exporter":      {User: "nobody"},
	"quay.io/prometheus/prometheus":     {User: "nobody"},
	"quay.io/prometheus/alertmanager":   {User: "nobody"},
	"quay.io/prometheus/node-exporter":  {User: "nobody"},
	"docker.io/library/haproxy":         {User: "haproxy", Entry: Script},
	"docker.io/library/traefik":         {Entry: Script},
	"docker.io/library/registry":        {Entry: Script},
	"docker.io/library/python":          {Entry: Nothing},
	"docker.io/library/node":            {Entry: Script},
	"docker.io/library/golang":          {Entry: Nothing},
	"docker.io/library/ruby":            {Entry: Nothing},
	"docker.io/library/perl":            {Entry: Nothing},
	"docker.io/library/php":             {Entry: Script},
	"docker.io/library/eclipse-temurin": {Entry: Script},
	"docker.io/library/tomcat":          {Entry: Nothing},
	"docker.io/library/fedora":          {Entry: Nothing},
	"docker.io/library/almalinux":       {Entry: Nothing},
	"docker.io/library/rockylinux":      {Entry: Nothing},
	"docker.io/library/amazonlinux":     {Entry: Nothing},
	"docker.io/library/buildpack-deps":  {Entry: Nothing},
	"docker.io/library/wordpress":       {Entry: Script},
	"docker.io/library/nextcloud":       {Entry: Script},
	"docker.io/library/influxdb":        {Entry: Script},
	"docker.io/library/telegraf":        {Entry: Script},
}
