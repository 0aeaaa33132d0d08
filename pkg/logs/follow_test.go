package logs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

const main0 = "train-0/main"

func TestFollow(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	c.newPod("stranger", ofOtherJob)
	f := follow(t, c, all())
	c.run("train-0", "main")
	c.write("train-0", "main", "one\n", "two\n")
	f.await(main0, "one\ntwo\n")
	c.write("train-0", "main", "raw \xff\x00 \r\x1b[1m\n", strings.Repeat("long", 1<<18)+"\n", "unfinished")
	c.succeed("train-0")
	assert.NilError(t, f.end())
	f.await(main0, "one\ntwo\nraw \xff\x00 \r\x1b[1m\n"+strings.Repeat("long", 1<<18)+"\nunfinished")
	assert.Equal(t, len(f.texts), 1)
	assert.Equal(t, len(f.notes), 0, "%q", f.notes)
}

// TestConnectionsBreak cuts connections repeatedly in the middle of lines.
func TestConnectionsBreak(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	c.run("train-0", "main")
	f := follow(t, c, all())
	want := ""
	for i := range 6 {
		for n := range 5 {
			text := fmt.Sprintf("line %d of %d\n", n, i)
			c.write("train-0", "main", text)
			want += text
		}
		f.await(main0, want)
		c.awaitFollowers(1)
		c.cut("2026-08-30T06:00:59.000000000Z half a li")
		c.awaitFollowers(0)
		f.step(time.Second)
	}
	c.awaitFollowers(1)
	c.succeed("train-0")
	assert.NilError(t, f.end())
	f.await(main0, want)
	assert.Equal(t, len(f.notes), 0, "%q", f.notes)
}

// TestContainerIsRestarted checks that the last lines of a run come before those of the next one.
func TestContainerIsRestarted(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	c.run("train-0", "main")
	f := follow(t, c, logs.Options{Tail: 1})
	c.write("train-0", "main", "first\n")
	f.await(main0, "first\n")
	c.awaitFollowers(1)
	// The connection breaks. When it is back, the container runs again.
	c.cut("")
	f.awaitWaiter()
	c.write("train-0", "main", "last words\n")
	c.exit("train-0", "main")
	c.run("train-0", "main")
	c.write("train-0", "main", "again\n", "and on\n")
	f.step(time.Second)
	f.await(main0, "first\nlast words\nagain\nand on\n")

	c.awaitFollowers(1)
	c.cut("")
	f.awaitWaiter()
	c.exit("train-0", "main")
	for _, text := range []string{"lost\n", "third\n", "fourth\n"} {
		c.run("train-0", "main")
		c.write("train-0", "main", text)
		if text != "fourth\n" {
			c.exit("train-0", "main")
		}
	}
	f.step(time.Second)
	f.await(main0, "first\nlast words\nagain\nand on\nthird\nfourth\n")
	c.succeed("train-0")
	assert.NilError(t, f.end())
	assert.DeepEqual(t, f.notes, []string{
		"note: container main of Pod train-0 was restarted 3 times while it could not be read; the logs of 1 run are lost",
	})
}

// TestLaterPods checks that later Pods are read completely, whatever the options say
// about initial ones.
func TestLaterPods(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	c.run("train-0", "main")
	c.write("train-0", "main", "one\n", "two\n", "three\n")
	f := follow(t, c, logs.Options{Tail: 1, Timestamps: true})
	f.await(main0, "2026-08-30T06:00:00.600000000Z three\n")
	c.newPod("train-1")
	c.run("train-1", "main")
	c.write("train-1", "main", "a\n", "b\n")
	f.await("train-1/main", "2026-08-30T06:00:00.000000000Z a\n2026-08-30T06:00:00.300000000Z b\n")
	c.succeed("train-1")
	c.remove("train-1")
	c.succeed("train-0")
	assert.NilError(t, f.end())
	assert.Equal(t, len(f.notes), 0, "%q", f.notes)
}

// TestTailZero checks that no line is lost if the connection breaks before the first
// one.
func TestTailZero(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	c.run("train-0", "main")
	c.write("train-0", "main", "old\n", "older\n")
	f := follow(t, c, logs.Options{Tail: 0})
	c.awaitFollowers(1)
	c.cut("")
	c.awaitFollowers(0)
	c.write("train-0", "main", "new\n", "newer\n")
	f.step(time.Second)
	f.await(main0, "new\nnewer\n")
	c.succeed("train-0")
	assert.NilError(t, f.end())
	f.await(main0, "new\nnewer\n")
}

// TestLogEndsBeforeStatus checks that the end of a log is requested again if the Pod's status
// changes only later.
func TestLogEndsBeforeStatus(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	c.run("train-0", "main")
	c.write("train-0", "main", "one\n")
	f := follow(t, c, all())
	f.await(main0, "one\n")
	c.change(func() { c.endLog("train-0", "main") })
	f.awaitWaiter()
	c.write("train-0", "main", "two\n")
	c.succeed("train-0")
	f.step(time.Second)
	assert.NilError(t, f.end())
	f.await(main0, "one\ntwo\n")
	assert.Equal(t, len(f.notes), 0, "%q", f.notes)
}

// TestTailDoesNotGrow checks that a tail does not grow by omitted lines of the same second.
func TestTailDoesNotGrow(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	c.run("train-0", "main")
	c.write("train-0", "main", "a\n", "b\n", "c\n")
	f := follow(t, c, logs.Options{Tail: 1})
	f.await(main0, "c\n")
	c.awaitFollowers(1)
	c.cut("")
	f.step(time.Second)
	c.awaitFollowers(1)
	c.write("train-0", "main", "d\n")
	c.succeed("train-0")
	assert.NilError(t, f.end())
	f.await(main0, "c\nd\n")
}

// TestWaitingIsReportedOnce checks that a waiting container is reported once, even if its reasons
// alternate.
func TestWaitingIsReportedOnce(t *testing.T) {
	c := newCluster(t)
	c.newPod("train-0")
	f := follow(t, c, all())
	for range 3 {
		for _, reason := range []string{"ErrImagePull", "ImagePullBackOff"} {
			c.update("train-0", func(p *corev1.Pod) {
				statusIn(p, "main").State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: "no such image"}
			})
		}
	}
	f.awaitNote("waits")
	c.run("train-0", "main")
	c.write("train-0", "main", "at last\n")
	f.await(main0, "at last\n")
	c.succeed("train-0")
	assert.NilError(t, f.end())
	assert.DeepEqual(t, f.notes, []string{"note: container main of Pod train-0 waits: ImagePullBackOff: no such image"})
}

// TestPodsRunAfterJob checks that Pods which keep running after their object has ended are followed
// for a while only, and terminating ones until their end.
func TestPodsRunAfterJob(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"train-0", "train-1", "train-2"} {
		c.newPod(name)
		c.run(name, "main")
		c.write(name, "main", "one\n")
	}
	c.newPod("pending")
	f := follow(t, c, all())
	c.update("train-1", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: epoch} })
	c.awaitFollowers(3)
	for _, name := range []string{"train-0", "train-1", "train-2"} {
		f.await(name+"/main", "one\n")
	}
	close(f.over)
	c.write("train-0", "main", "two\n")
	f.await(main0, "one\ntwo\n")
	c.succeed("train-2")
	c.awaitFollowers(2)
	f.step(10 * time.Second)
	c.awaitFollowers(1)
	f.awaitNote("note: container main of Pod train-0 still runs; stopped following it")
	c.write("train-1", "main", "goodbye\n")
	f.await("train-1/main", "one\ngoodbye\n")
	c.remove("train-1")
	assert.NilError(t, f.wait())
	assert.Equal(t, len(f.notes), 1, "%q", f.notes)
}

// TestConcurrentPods checks that every line arrives in one piece, with no more requests at once
// than allowed.
func TestConcurrentPods(t *testing.T) {
	const pods, lines = 12, 200
	c := newCluster(t)
	f := follow(t, c, logs.Options{Tail: -1, MaxRequests: 4})
	for i := range pods {
		name := fmt.Sprintf("train-%d", i)
		c.newPod(name, index(i))
		c.run(name, "main")
	}
	c.awaitFollowers(4)
	for n := range lines {
		for i := range pods {
			c.write(fmt.Sprintf("train-%d", i), "main", fmt.Sprintf("%d of %d\n", n, i))
		}
		c.mu.Lock()
		assert.Assert(t, c.open <= 4)
		c.mu.Unlock()
	}
	for i := range pods {
		c.succeed(fmt.Sprintf("train-%d", i))
	}
	assert.NilError(t, f.end())
	for i := range pods {
		var want strings.Builder
		for n := range lines {
			fmt.Fprintf(&want, "%d of %d\n", n, i)
		}
		f.await(fmt.Sprintf("train-%d/main", i), want.String())
	}
	assert.DeepEqual(t, f.notes, []string{
		"note: following 4 logs at once; others start when one of them ends. Raise the limit with --max-log-requests",
	})
}

func TestForbiddenLogs(t *testing.T) {
	c := newCluster(t)
	c.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "train-0", fmt.Errorf("no"))
	c.newPod("train-0")
	c.run("train-0", "main")
	assert.ErrorContains(t, follow(t, c, all()).wait(), `context "worker": cannot read the log of container main of Pod train-0: pods/log "train-0" is forbidden: no`)
	call := newCall(t, all())
	assert.ErrorContains(t, call.reader.Read(t.Context(), []logs.Target{c.target()}), "is forbidden: no")
}

// TestKubeletDoesNotAnswer checks that reading is retried, and that the error is reported once.
func TestKubeletDoesNotAnswer(t *testing.T) {
	c := newCluster(t)
	c.refuse = apierrors.NewInternalError(fmt.Errorf("dial tcp: connection refused"))
	c.newPod("train-0")
	c.run("train-0", "main")
	c.write("train-0", "main", "one\n")
	f := follow(t, c, all())
	f.awaitNote("connection refused; retrying")
	f.step(time.Second)
	c.await("a second request", func() bool { return len(c.asked) == 2 })
	c.change(func() { c.refuse = nil })
	f.step(2 * time.Second)
	f.await(main0, "one\n")
	c.succeed("train-0")
	assert.NilError(t, f.end())
	assert.Equal(t, len(f.notes), 1, "%q", f.notes)
}

// TestDeletedLogs checks that logs which are deleted before they are read are reported and
// counted.
func TestDeletedLogs(t *testing.T) {
	c := newCluster(t)
	c.refuse = apierrors.NewInternalError(fmt.Errorf("no kubelet"))
	c.newPod("train-0")
	c.run("train-0", "main")
	f := follow(t, c, all())
	f.awaitNote("no kubelet")
	f.awaitWaiter()
	c.remove("train-0")
	f.step(time.Second)
	f.awaitNote("the Pod was deleted before its log was read completely")
	assert.Error(t, f.end(), "not all logs on worker were read completely")
}
