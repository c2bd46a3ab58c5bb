(function () {
  'use strict';
  var body = document.body, state = document.getElementById('state');
  var has = body.dataset.has, size = +body.dataset.size, source, later;
  function wanted() {
    var w = window.innerWidth;
    return w < 700 ? 60 : w < 1150 ? 80 : 120;
  }
  function says(text) { if (state.textContent !== text) { state.textContent = text; } }
  function put(parts) {
    Object.keys(parts).forEach(function (id) {
      var e = document.getElementById(id);
      if (e) { e.innerHTML = parts[id]; }
    });
  }
  function listen() {
    if (source) { source.close(); }
    source = new EventSource('/events?size=' + size + '&has=' + encodeURIComponent(has));
    source.onopen = function () { says(''); };
    source.onmessage = function (m) { has = m.lastEventId; put(JSON.parse(m.data)); };
    source.addEventListener('over', function () { source.close(); says('The class is over.'); again(10000); });
    source.onerror = function () {
      says('The connection is lost; trying again …');
      if (source.readyState === 2) { again(3000); }
    };
  }
  // Nobody listens there now, or the class lets nobody listen: there are too many, or it asks for its code. As soon as it
  // answers, the page is loaded.
  function again(wait) {
    clearTimeout(later);
    later = setTimeout(function () {
      fetch('/', { method: 'HEAD', cache: 'no-store' }).then(function () { location.reload(); }, function () { again(wait); });
    }, wait);
  }
  function resized() {
    if (wanted() !== size) { size = wanted(); listen(); }
  }
  var moves;
  window.addEventListener('resize', function () { clearTimeout(moves); moves = setTimeout(resized, 200); });
  size = wanted();
  listen();
})();
