package main
import "context"
func manyCalls(context.Context, job) (memoryUse, error) {return memoryUse{},nil}
func manyLoads(context.Context, job) (memoryUse, error) {return memoryUse{},nil}
func manyInstances(context.Context, job) (memoryUse, error) {return memoryUse{},nil}
