package glob

import "testing"

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "kueue.x-k8s.io/multikueue", true},
		{"*multikueue", "kueue.x-k8s.io/multikueue", true},
		{"kueue.x-k8s.io/*", "kueue.x-k8s.io/multikueue", true},
		{"kueue.x-k8s.io", "kueue.x-k8s.io/multikueue", false},
		{"prod-?", "prod-1", true},
		{"prod-[ab]", "prod-c", false},
		{"prod-[^ab]", "prod-c", true},
	} {
		got, err := Match(tt.pattern, tt.name)
		if err != nil || got != tt.want {
			t.Errorf("Match(%q, %q) = %v, %v; want %v", tt.pattern, tt.name, got, err, tt.want)
		}
	}
	if _, err := Match("[", "x"); err == nil {
		t.Error("a broken pattern gave no error")
	}
}
