package fleet

import (
	"slices"
	"sync"
)

// waiting keeps account of the contexts that are being asked.
type waiting struct {
	tell func([]string)

	mu       sync.Mutex
	contexts []string
}

// on begins to wait for a context, until what it returns is called.
func (w *waiting) on(context string) (answered func()) {
	if w == nil || w.tell == nil {
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
	w.tell(slices.Clone(w.contexts))
}
