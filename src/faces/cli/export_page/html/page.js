(function () {
  "use strict";
  var find = document.getElementById("find");
  var who = document.getElementById("who");
  var said = document.getElementById("said");
  var rows = Array.from(document.querySelectorAll(".row")).map(function (row) {
    return { row: row, who: (row.getAttribute("data-a") || "").split(" "), text: null };
  });
  var lanes = Array.from(document.querySelectorAll(".lane[data-a]"));
  var groups = Array.from(document.querySelectorAll(".group"));
  var sections = Array.from(document.querySelectorAll("main section[id]"));
  var due = 0;

  function fits(entry, words, agent) {
    if (agent !== "") { if (!entry.who.includes(agent)) { return false; } }
    if (words.length === 0) { return true; }
    if (entry.text === null) { entry.text = entry.row.textContent.toLowerCase(); }
    return words.every(function (word) { return entry.text.includes(word); });
  }

  function apply() {
    var words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    var agent = who.value;
    var is_filtered = words.length > 0 || agent !== "";
    var shown = 0;
    rows.forEach(function (entry) {
      var is_shown = fits(entry, words, agent);
      entry.row.hidden = !is_shown;
      shown += is_shown ? 1 : 0;
    });
    lanes.forEach(function (lane) {
      lane.hidden = agent === "" ? false : lane.getAttribute("data-a") !== agent;
    });
    groups.forEach(function (group) {
      group.hidden = is_filtered ? group.querySelector(".row:not([hidden])") === null : false;
    });
    sections.forEach(function (section) {
      var none = section.querySelector(".none");
      if (none) { none.hidden = is_filtered ? section.querySelector(".row:not([hidden])") !== null : true; }
    });
    said.textContent = is_filtered ? shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " entries" : "";
  }

  function soon() {
    window.clearTimeout(due);
    due = window.setTimeout(apply, 120);
  }

  find.addEventListener("input", soon);
  who.addEventListener("change", apply);
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") {
      if (event.target === find) { find.value = ""; apply(); }
    }
    if (event.key === "/") {
      if (!/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); find.focus(); }
    }
  });
  document.getElementById("filter").hidden = false;
  if (find.value !== "" || who.value !== "") { apply(); }
})();
