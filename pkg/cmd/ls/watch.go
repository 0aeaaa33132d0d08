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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// watchView shows a watch: on a terminal a screen that is drawn anew, elsewhere
// rows or documents, one behind the other.
type watchView interface {
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
	for name, err := range f.Unusable() {
		board.Apply(inspect.Change{Type: inspect.Lost, Context: name, Err: err})
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := make(chan inspect.Change)
	query := o.query.Across(ctx, f)
	var wg sync.WaitGroup
	for _, c := range f.Clusters() {
		wg.Go(func() { read.Watch(ctx, c, query, o.flags.ContextTimeout, changes) })
	}
	defer wg.Wait()
	defer cancel()

	err := o.follow(ctx, board, changes, o.newView(board))
	if failed := board.Errors(); len(failed) > 0 {
		return errors.Join(err, &util.PartialError{Failed: len(failed), Total: len(f.Contexts())})
	}
	return err
}

// follow takes changes in and has them shown.
func (o *listOptions) follow(ctx context.Context, board *inspect.Board, changes <-chan inspect.Change, view watchView) error {
	started := false
	refresh := o.Clock.NewTicker(util.Redraw)
	defer refresh.Stop()
	// A context that does not answer must not keep the others from being shown.
	var late <-chan time.Time
	if timeout := o.flags.ContextTimeout; timeout > 0 {
		timer := o.Clock.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C()
	}
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
		case <-late:
			board.GiveUp(&kubecontext.TimeoutError{After: o.flags.ContextTimeout})
		case change := <-changes:
			if err := apply(board, change, view, started); err != nil {
				return err
			}
		case <-refresh.C():
			if started {
				if err := view.refresh(); err != nil {
					return err
				}
			}
		}
	}
}

// apply takes a change in, and has it shown once the view has started.
func apply(board *inspect.Board, change inspect.Change, view watchView, started bool) error {
	for _, c := range board.Apply(change) {
		if !started {
			continue
		}
		if err := view.change(c); err != nil {
			return err
		}
	}
	return nil
}

func (o *listOptions) newView(board *inspect.Board) watchView {
	if _, isTerminal := o.Terminal(); isTerminal && o.format.IsTable() && !o.watchOnly && !o.events {
		return &screenView{listOptions: o, board: board, screen: printers.NewScreen(o.Out)}
	}
	view := &rowsView{listOptions: o, board: board, shown: sets.New[inspect.Ref]()}
	if o.format.IsTable() {
		view.stream = printers.NewStream(o.Out, o.TableNow(o.table), o.events)
	}
	return view
}

// screenView redraws a terminal.
type screenView struct {
	*listOptions
	board  *inspect.Board
	screen *printers.Screen
	drawn  time.Time
	stale  bool
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

func (v *screenView) start() error {
	v.stale = true
	return v.refresh()
}

func (v *screenView) change(inspect.Change) error {
	v.stale = true
	return nil
}

func (v *screenView) refresh() error {
	now := v.Clock.Now()
	if now.Before(v.rested) || !v.stale && now.Sub(v.drawn) < util.Tick {
		return nil
	}
	v.stale, v.drawn = false, now
	defer func() { v.rested = v.Clock.Now().Add(min(restful*v.Clock.Since(now), longestRest)) }()
	list := v.board.List(v.filter)
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
	if len(list.Items) == 0 && len(list.Errors) == 0 {
		text.WriteString("No " + v.kindsText() + " so far\n")
	}
	return v.screen.Draw(text.String(), int(size.Width), int(size.Height))
}
