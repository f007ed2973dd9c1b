package server

// What the admissions of tests do before a body is read: nothing.

func (onePlace) Enter(Principal, Cost) error { return nil }

func (*countingAdmission) Enter(Principal, Cost) error { return nil }

func (*partAdmission) Enter(Principal, Cost) error { return nil }
