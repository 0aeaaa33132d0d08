package placement

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestRefused checks that of several reasons always the same one is reported.
func TestRefused(t *testing.T) {
	much, little := resource.MustParse("8"), resource.MustParse("1")
	c := corev1.Container{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"memory": much, "cpu": much, "a.example/x": much, "z.example/x": much},
	}}
	limits := []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{"memory": little, "cpu": little, "z.example/x": little},
	}}}}}
	limits[0].Name = "small"
	for range 50 {
		assert.Equal(t, refused(&c, limits), "requests 8 cpu; LimitRange small allows at most 1")
	}
}
