package inspect

// Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Severities returns all severities, the worst first.
func Severities() []Severity { return []Severity{Error, Warning, Info} }

// Finding is one thing that is wrong with one object.
type Finding struct {
	Code       string   `json:"code"`
	Severity   Severity `json:"severity"`
	Title      string   `json:"title"`
	Message    string   `json:"message"`
	Context    string   `json:"context"`
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	// Evidence quotes the fields that show it.
	Evidence []string `json:"evidence"`
	// Remedy is what to do, as a command or a change.
	Remedy string `json:"remedy"`
	// Jobs are those that hang on it; the object itself may be something else.
	Jobs []Ref `json:"jobs"`
	// Docs is where to read on.
	Docs string `json:"docs"`
}
