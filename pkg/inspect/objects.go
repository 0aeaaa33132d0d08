package inspect

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ObjectName is what an object is called on its cluster, in whatever version. An origin and
// a mirror that its owner did not move have it in common.
type ObjectName struct {
	schema.GroupKind
	types.NamespacedName
}

// NameOf is what a Job is called.
func NameOf(j *Job) ObjectName { return NameLike(j, j.Namespace, j.Name) }

// NameLike is the name of another object of a Job's kind.
func NameLike(j *Job, namespace, name string) ObjectName {
	return ObjectName{
		schema.FromAPIVersionAndKind(j.APIVersion, j.Kind).GroupKind(), types.NamespacedName{Namespace: namespace, Name: name},
	}
}

// objects finds the objects of a cluster.
type objects struct {
	byUID  map[string]*Job
	byName map[ObjectName]*Job
	// parts are what an object controls, by the object's uid.
	parts map[string][]*Job
}

// objects are those of the cluster, put in order once somebody asks: most never do.
func (f *Facts) objects() *objects {
	if f.index == nil {
		return &objects{}
	}
	if f.index.objects == nil {
		x := &objects{byUID: map[string]*Job{}, byName: map[ObjectName]*Job{}, parts: map[string][]*Job{}}
		for _, j := range f.Jobs {
			x.byUID[j.UID], x.byName[NameOf(j)] = j, j
			if j.Controller != nil {
				uid := string(j.Controller.UID)
				x.parts[uid] = append(x.parts[uid], j)
			}
		}
		f.index.objects = x
	}
	return f.index.objects
}

// JobOf finds an object by its uid; nil if there is none among what was read.
func (f *Facts) JobOf(uid string) *Job { return f.objects().byUID[uid] }

// JobNamed finds an object by its name; nil if there is none among what was read.
func (f *Facts) JobNamed(name ObjectName) *Job { return f.objects().byName[name] }

// PartsOf are what an object controls.
func (f *Facts) PartsOf(j *Job) []*Job { return f.objects().parts[j.UID] }
