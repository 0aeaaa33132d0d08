// Package untranslated keeps k8s.io/kubectl from reading its translations, which
// would take half of the time in which the plugin starts. Nothing that kubectl
// translates is ever shown: of its commands only printers are used.
//
// To import it is enough. Go initialises packages in the order of their import paths
// as soon as what they import is (Go 1.21 release notes), and this one's path stands
// before those of kubectl, as k8s.io/kubectl/pkg/util/i18n asks for.
package untranslated

import "k8s.io/kubectl/pkg/util/i18n"

func init() {
	// It fails only where translations were read already, and then nothing is lost.
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil })
}
