package ls

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// watchView shows a watch: on a terminal a screen that is redrawn, elsewhere rows or documents,
// one after the other.
type watchView interface {
	// early shows what it can of a change while not all contexts have been listed.
	early(inspect.Change) error
	// start shows the state at the beginning of the watch.
	start() error
	// change shows a change that the board has applied.
	change(inspect.Change) error
	// refresh shows the changes since its last call.
	refresh() error
}

// runWatch follows the fleet until ctx ends, or until it is clear that no context will ever
// answer.
func (o *listOptions) runWatch(ctx context.Context, f *fleet.Fleet) error {
	board := inspect.NewBoard(f.Contexts(), o.isComplete(f, o.flags.Addresses(o.contexts, f), o.query.LabelSelector != ""))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watcher := read.NewWatcher(f, o.query, o.Clock)
	var wg sync.WaitGroup
	wg.Go(func() { watcher.Run(ctx) })
	defer wg.Wait()
	defer cancel()

	err := o.follow(ctx, board, watcher, o.newView(board, f))
	if failed := board.Errors(); len(failed) > 0 {
		return errors.Join(err, &util.PartialError{Failed: len(failed), Total: len(f.Contexts())})
	}
	return err
}

// follow applies changes and shows them.
func (o *listOptions) follow(ctx context.Context, board *inspect.Board, watcher *read.Watcher, view watchView) error {
	started := false
	refresh := o.Clock.NewTicker(util.Redraw)
	defer refresh.Stop()
	for {
		if !started && board.Complete() {
			if board.Hopeless() {
				return view.start()
			}
			if err := view.start(); err != nil {
				return err
			}
			started = true
		}
		select {
		case <-ctx.Done():
			return util.Interrupted(ctx)
		case <-watcher.News():
			for _, change := range watcher.Take() {
				if err := apply(board, change, view, started); err != nil {
					return err
				}
			}
		case <-refresh.C():
			if err := view.refresh(); err != nil {
				return err
			}
		}
	}
}

// apply applies a change and shows it.
func apply(board *inspect.Board, change inspect.Change, view watchView, started bool) error {
	show := view.early
	if started {
		show = view.change
	}
	for _, c := range board.Apply(change) {
		if err := show(c); err != nil {
			return err
		}
	}
	return nil
}

func (o *listOptions) newView(board *inspect.Board, f *fleet.Fleet) watchView {
	notes := util.NewUnwatchedNotes(f, o.ErrOut)
	if _, isTerminal := o.Terminal(); isTerminal && o.format.IsTable() && !o.watchOnly && !o.events {
		return &screenView{listOptions: o, board: board, notes: notes, screen: printers.NewScreen(o.Out)}
	}
	view := &rowsView{listOptions: o, board: board, notes: notes, shown: sets.New[inspect.Ref]()}
	if o.format.IsTable() {
		view.stream = printers.NewStream(o.Out, o.TableNow(o.table), o.events)
	}
	return view
}

// screenView redraws a terminal.
type screenView struct {
	*listOptions
	board  *inspect.Board
	notes  *util.UnwatchedNotes
	screen *printers.Screen
	drawn  time.Time
	// stale is set if something has changed since, and started if all contexts have been listed.
	stale, started bool
	// rested is the time from which it may be redrawn.
	rested time.Time
}

// The pause of a screen is nine times as long as its drawing, so that drawing takes no more than
// a tenth of a core however many Jobs there are, but at most longestRest, since on a loaded machine
// drawing takes time without using it.
const (
	restFactor  = 9
	longestRest = 2 * time.Second
)

func (v *screenView) early(c inspect.Change) error { return v.change(c) }

func (v *screenView) start() error {
	v.stale, v.started = true, true
	return v.refresh()
}

func (v *screenView) change(inspect.Change) error {
	v.stale = true
	return nil
}

func (v *screenView) refresh() error {
	now := v.Clock.Now()
	if now.Before(v.rested) || !v.stale && (!v.started || now.Sub(v.drawn) < util.Tick) {
		return nil
	}
	v.stale, v.drawn = false, now
	defer func() { v.rested = v.Clock.Now().Add(min(restFactor*v.Clock.Since(now), longestRest)) }()
	list := v.board.List(v.filter)
	if v.folds() {
		list.Fold()
	}
	for i := range list.Items {
		v.sorter.Sort(list.Items[i].Jobs)
	}
	size, _ := v.Terminal()
	table := v.TableNow(v.table)
	table.Height = int(size.Height)
	var text bytes.Buffer
	if err := printers.Owners(&text, list, table); err != nil {
		return err
	}
	switch {
	case len(list.Items) > 0 || len(list.Errors) > 0:
	case !v.started:
		return nil
	default:
		text.WriteString("No " + v.kindsText() + " so far\n")
	}
	for _, note := range v.notes.All() {
		util.Report(&text, "%s", note)
	}
	return v.screen.Draw(text.String(), int(size.Width), int(size.Height))
}
