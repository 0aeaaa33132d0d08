package printers

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

func TestAdvice(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		width      int
		want       []string
	}{
		{"no command", "ask for less, or have the quota raised", 30, []string{"    ask for less, or have the", "    quota raised"}},
		{"no width", "do `kubectl get jobs`, then wait", 0, []string{"    do `kubectl get jobs`, then wait"}},
		{"between words", "do `kubectl get jobs`, and then `kubectl get pods`", 60, []string{
			"    do", "      kubectl get jobs", "    and then", "      kubectl get pods",
		}},
		{"alone", "`kubectl get jobs`", 60, []string{"      kubectl get jobs"}},
		{"too long", "`kubectl --context worker-1 -n ml delete job train`", 30, []string{
			`      kubectl --context \`, `        worker-1 -n ml \`, `        delete job train`,
		}},
		{"quoted", "`kubectl patch job train -p '{\"spec\": {\"suspend\": false}}'`", 30, []string{
			`      kubectl patch job \`, `        train -p \`, `        '{"spec": {"suspend": false}}'`,
		}},
		{"escaped", "`kubectl delete job 'it'\\''s a' \"b c\" d`", 30, []string{
			`      kubectl delete job \`, `        'it'\''s a' "b c" d`,
		}},
		{"no end", "do `kubectl get jobs", 60, []string{"    do", "      kubectl get jobs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := advice(command.Prose(tt.text), "    ", TableOptions{Width: tt.width})
			assert.DeepEqual(t, got, tt.want)
		})
	}
	colored := strings.Join(advice("do `kubectl get jobs`", "", TableOptions{Width: 60, Color: true}), "\n")
	assert.Equal(t, colored, "do\n  \x1b[1mkubectl get jobs\x1b[m")
}
