package inspect

// ClassName names a class of a kind. It is zero for none.
type ClassName struct {
	Kind, Name string
	// Resource is the kind's resource for kubectl.
	Resource string
}

// WorkloadPriorityClass returns the name of one of Kueue's classes.
func WorkloadPriorityClass(name string) ClassName {
	return ClassName{Kind: "WorkloadPriorityClass", Name: name, Resource: "workloadpriorityclasses.kueue.x-k8s.io"}
}

// Class is the class that gives a Job its priority: a WorkloadPriorityClass or, without one, a
// PriorityClass. Kueue creates no Workload without it.
type Class struct {
	// Name is zero if the Job names no class.
	Name ClassName
	// IsMissing is whether the class does not exist.
	IsMissing bool
	// Unread is why nothing is known about it, "" if it was read.
	Unread string
}

// MissingClass returns the class that a Job names and that does not exist; ok is false if it exists, or
// if that is unknown.
func (f *Facts) MissingClass(j *Job) (name ClassName, ok bool) {
	if f == nil {
		return ClassName{}, false
	}
	class := f.Classes[j.UID]
	return class.Name, class.IsMissing
}

// AddClass records the class of a Job.
func (f *Facts) AddClass(j *Job, class Class) {
	if f.Classes == nil {
		f.Classes = map[string]Class{}
	}
	f.Classes[j.UID] = class
}
