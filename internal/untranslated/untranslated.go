// Package untranslated keeps k8s.io/kubectl from reading its translations, which would take half
// of the plugin's start time. No translated text is ever shown, because the plugin uses only the
// printers of kubectl's commands.
//
// It takes effect by its import. Go initialises packages in the order of their import paths as
// soon as their imports are initialised (Go 1.21 release notes), and its path comes before those
// of kubectl, as k8s.io/kubectl/pkg/util/i18n requires.
package untranslated

import "k8s.io/kubectl/pkg/util/i18n"

func init() {
	// It fails only if translations were already read, and then nothing is lost.
	_ = i18n.SetLoadTranslationsFunc(func() error { return nil })
}
