package fleet

import (
	"slices"
	"sync"
)

// waiting tracks the contexts that are being asked.
type waiting struct {
	report func([]string)

	mu       sync.Mutex
	contexts []string
}

// add adds a context until the returned function is called.
func (w *waiting) add(context string) (answered func()) {
	if w == nil || w.report == nil {
		return func() {}
	}
	w.change(func() { w.contexts = append(w.contexts, context) })
	return func() {
		w.change(func() {
			if i := slices.Index(w.contexts, context); i >= 0 {
				w.contexts = slices.Delete(w.contexts, i, i+1)
			}
		})
	}
}

func (w *waiting) change(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
	w.report(slices.Clone(w.contexts))
}
