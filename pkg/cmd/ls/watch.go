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

// watchView shows a watch: on a terminal a screen that is drawn anew, elsewhere
// rows or documents, one behind the other.
type watchView interface {
	// early shows what it can of a change while not all contexts have told all there is.
	early(inspect.Change) error
	// start shows the state in which the watch begins.
	start() error
	// change shows a change that the board has taken in.
	change(inspect.Change) error
	// refresh shows what has come about since it was called last.
	refresh() error
}

// runWatch follows the fleet until ctx is over, or until it is clear that no
// context will ever answer.
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

// follow takes changes in and has them shown.
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

// apply takes a change in, and has it shown.
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
	// stale is whether something has changed since, and started whether all is told there is.
	stale, started bool
	// rested is when it may be drawn again.
	rested time.Time
}

// A screen rests nine times as long as it took to draw, so that drawing takes no more than a
// tenth of a core however many Jobs there are, and no longer than longestRest, since on a
// busy machine drawing takes its time without any work.
const (
	restful     = 9
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
	defer func() { v.rested = v.Clock.Now().Add(min(restful*v.Clock.Since(now), longestRest)) }()
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
		util.Tell(&text, "%s", note)
	}
	return v.screen.Draw(text.String(), int(size.Width), int(size.Height))
}
