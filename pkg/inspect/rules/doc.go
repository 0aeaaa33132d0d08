// Package rules judges an inventory. A rule is a value: what it detects, how severe that is, and
// the text about it. Packages below this one hold the rules, one package per family. They read the
// inventory only through a view.View, so they work on a live fleet, on a watched one and on a
// recorded one.
//
// A finding counts once it is older than its grace period and, if it depends on absence, once
// two readings have seen it (Confirmer). Judge applies the grace period and Options.Suppressed.
package rules
