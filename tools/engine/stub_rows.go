package main
func (s *suite) stateRows() []row { return nil }
func (s *suite) instanceRows() []row { return nil }
func (s *suite) scalingRows() []row { return nil }
func (s *suite) deadlineRows() []row { return nil }
func (s *suite) collectorRows() []row { return nil }
func (s *suite) enduranceRows() []row { return nil }
func (s *suite) startRows() []row { return nil }
