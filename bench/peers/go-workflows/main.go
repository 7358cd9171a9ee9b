// SPDX-License-Identifier: MIT

// The workloads on go-workflows: in process, its SQLite backend with notifications
// instead of polling (monoprocess), a cache that holds every workflow in flight.
//
//	go-workflows FILE SECONDS WORKLOAD:IN_FLIGHT…
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"bench/load"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
)

func Step(ctx context.Context, input string) (string, error) { return load.Output, nil }

func Bench(ctx workflow.Context, workload string) (string, error) {
	steps, atOnce := load.Steps(workload)
	var all []workflow.Future[string]
	for i := 0; i < steps; i++ {
		f := workflow.ExecuteActivity[string](ctx, workflow.DefaultActivityOptions, Step, load.Input)
		if atOnce {
			all = append(all, f)
		} else if _, err := f.Get(ctx); err != nil {
			return "", err
		}
	}
	for _, f := range all {
		if _, err := f.Get(ctx); err != nil {
			return "", err
		}
	}
	return load.Output, nil
}

func main() {
	ctx := context.Background()
	b := monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(os.Args[1],
		sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler)))))
	options := worker.DefaultOptions
	options.WorkflowExecutorCacheSize = 4096
	w := worker.New(b, &options)
	load.Check(w.RegisterWorkflow(Bench))
	load.Check(w.RegisterActivity(Step))
	load.Check(w.Start(ctx))
	c := client.New(b)
	load.Workflows(os.Args[2], os.Args[3:], func(id, workload string) error {
		in, err := c.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: id}, Bench, workload)
		if err != nil {
			return err
		}
		_, err = client.GetWorkflowResult[string](ctx, c, in, 5*time.Minute)
		return err
	})
}
