// SPDX-License-Identifier: MIT

// The workloads on durabletask-go: in process, its SQLite backend, default workers.
//
//	durabletask-go FILE SECONDS WORKLOAD:IN_FLIGHT…
package main

import (
	"context"
	"os"

	"bench/load"

	"github.com/microsoft/durabletask-go/api"
	"github.com/microsoft/durabletask-go/backend"
	"github.com/microsoft/durabletask-go/backend/sqlite"
	"github.com/microsoft/durabletask-go/task"
)

type silent struct{}

func (silent) Debug(v ...any)            {}
func (silent) Debugf(f string, v ...any) {}
func (silent) Info(v ...any)             {}
func (silent) Infof(f string, v ...any)  {}
func (silent) Warn(v ...any)             {}
func (silent) Warnf(f string, v ...any)  {}
func (silent) Error(v ...any)            {}
func (silent) Errorf(f string, v ...any) {}

func Step(task.ActivityContext) (any, error) { return load.Output, nil }

func Bench(ctx *task.OrchestrationContext) (any, error) {
	var workload string
	if err := ctx.GetInput(&workload); err != nil {
		return nil, err
	}
	steps, atOnce := load.Steps(workload)
	var all []task.Task
	for i := 0; i < steps; i++ {
		t := ctx.CallActivity(Step, task.WithActivityInput(load.Input))
		if atOnce {
			all = append(all, t)
		} else if err := t.Await(nil); err != nil {
			return nil, err
		}
	}
	for _, t := range all {
		if err := t.Await(nil); err != nil {
			return nil, err
		}
	}
	return load.Output, nil
}

func main() {
	ctx := context.Background()
	r := task.NewTaskRegistry()
	load.Check(r.AddOrchestrator(Bench))
	load.Check(r.AddActivity(Step))
	executor := task.NewTaskExecutor(r)
	be := sqlite.NewSqliteBackend(sqlite.NewSqliteOptions(os.Args[1]), silent{})
	worker := backend.NewTaskHubWorker(be, backend.NewOrchestrationWorker(be, executor, silent{}),
		backend.NewActivityTaskWorker(be, executor, silent{}), silent{})
	load.Check(worker.Start(ctx))
	c := backend.NewTaskHubClient(be)
	load.Workflows(os.Args[2], os.Args[3:], func(id, workload string) error {
		made, err := c.ScheduleNewOrchestration(ctx, Bench, api.WithInstanceID(api.InstanceID(id)), api.WithInput(workload))
		if err != nil {
			return err
		}
		_, err = c.WaitForOrchestrationCompletion(ctx, made)
		return err
	})
}
