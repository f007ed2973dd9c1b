package doctorcmd

// finding is one line of "doctor".
type finding struct {
	Check string `json:"check"`
	// Status is ok, warning or problem.
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// The status of a finding.
const (
	statusOK      = "ok"
	statusWarning = "warning"
	statusProblem = "problem"
)
