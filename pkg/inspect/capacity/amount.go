package capacity

import (
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Amount is an amount of a resource: thousandths of a CPU, and whole units of
// all other resources, as Kueue counts them (kueue: pkg/resources).
type Amount int64

// Unlimited is more than can be counted. Adding or subtracting does not
// change it.
const Unlimited Amount = math.MaxInt64

// AmountOf converts a quantity of a resource into an amount, rounded up.
func AmountOf(name string, q resource.Quantity) Amount {
	if name == string(corev1.ResourceCPU) {
		if q.Value() >= math.MaxInt64/1000 {
			return Unlimited
		}
		return Amount(q.MilliValue())
	}
	return Amount(q.Value())
}

// Plus returns the sum, Unlimited if it is too large to count.
func (a Amount) Plus(b Amount) Amount {
	switch {
	case a == Unlimited || b == Unlimited || b > 0 && a > Unlimited-b:
		return Unlimited
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// Minus returns the difference.
func (a Amount) Minus(b Amount) Amount {
	switch {
	case a == Unlimited:
		return Unlimited
	case b == Unlimited:
		return math.MinInt64 + 1
	}
	return a.Plus(-b)
}

// Quantity returns the amount as a Kubernetes quantity.
func (a Amount) Quantity(name string) resource.Quantity {
	switch {
	case name == string(corev1.ResourceCPU):
		return *resource.NewMilliQuantity(int64(a), resource.DecimalSI)
	case name == string(corev1.ResourceMemory), name == string(corev1.ResourceEphemeralStorage), strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		return *resource.NewQuantity(int64(a), resource.BinarySI)
	}
	return *resource.NewQuantity(int64(a), resource.DecimalSI)
}

// Text returns the amount for people, such as 3, 500m or 2Gi.
func (a Amount) Text(name string) string {
	if a == Unlimited {
		return "unlimited"
	}
	// Countable resources have no suffix: 1000 GPUs are not "1k".
	const countable = 1e6
	if name != string(corev1.ResourceCPU) && a > -countable && a < countable {
		return strconv.FormatInt(int64(a), 10)
	}
	q := a.Quantity(name)
	return q.String()
}

// HeldBy returns how much of a resource in a flavor a Workload holds.
func HeldBy(claim *kueue.Claim, fr FlavorResource) Amount {
	var total Amount
	for _, h := range claim.Holds {
		if h.Flavor == fr.Flavor && h.Resource == fr.Resource {
			total = total.Plus(AmountOf(h.Resource, h.Quantity))
		}
	}
	return total
}
