package capacity

import (
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Amount is how much there is of a resource: thousandths of cpu, and whole units of
// everything else, as Kueue reckons (kueue: pkg/resources).
type Amount int64

// Unlimited is more than can be counted. It stays so, whatever is added or taken.
const Unlimited Amount = math.MaxInt64

// AmountOf reads a quantity of a resource, rounded up.
func AmountOf(name string, q resource.Quantity) Amount {
	if name == string(corev1.ResourceCPU) {
		if q.Value() >= math.MaxInt64/1000 {
			return Unlimited
		}
		return Amount(q.MilliValue())
	}
	return Amount(q.Value())
}

// Plus is the sum, Unlimited where it cannot be counted.
func (a Amount) Plus(b Amount) Amount {
	switch {
	case a == Unlimited || b == Unlimited || b > 0 && a > Unlimited-b:
		return Unlimited
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// Minus is the difference.
func (a Amount) Minus(b Amount) Amount {
	switch {
	case a == Unlimited:
		return Unlimited
	case b == Unlimited:
		return math.MinInt64 + 1
	}
	return a.Plus(-b)
}

// Quantity is the amount as Kubernetes writes it.
func (a Amount) Quantity(name string) resource.Quantity {
	switch {
	case name == string(corev1.ResourceCPU):
		return *resource.NewMilliQuantity(int64(a), resource.DecimalSI)
	case name == string(corev1.ResourceMemory), name == string(corev1.ResourceEphemeralStorage), strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		return *resource.NewQuantity(int64(a), resource.BinarySI)
	}
	return *resource.NewQuantity(int64(a), resource.DecimalSI)
}

// Text is the amount as people read it, such as 3, 500m or 2Gi.
func (a Amount) Text(name string) string {
	if a == Unlimited {
		return "unlimited"
	}
	// What is counted has no suffix: 1000 GPUs are not "1k".
	const countable = 1e6
	if name != string(corev1.ResourceCPU) && a > -countable && a < countable {
		return strconv.FormatInt(int64(a), 10)
	}
	q := a.Quantity(name)
	return q.String()
}

// HeldBy is what a Workload holds of a resource in a flavor.
func HeldBy(claim *kueue.Claim, fr FlavorResource) Amount {
	var total Amount
	for _, h := range claim.Holds {
		if h.Flavor == fr.Flavor && h.Resource == fr.Resource {
			total = total.Plus(AmountOf(h.Resource, h.Quantity))
		}
	}
	return total
}
