package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/plugberth/plugberth/mcpclient"
)

// What the agent program finds in its environment.
const (
	envConfig = "PLUGBERTH_MCP_CONFIG" // the path of its configuration
	envTurn   = "PLUGBERTH_TURN"       // 1, and more where it is resumed
)

// errAgent says that the agent program failed.
var errAgent = errors.New("the agent failed")

// runAgent runs the agent program in its workspace until it ends. The token is in
// the configuration file alone: arguments can be read by others, and an environment
// is inherited.
func (r *runner) runAgent(ctx context.Context, turn int, config string) error {
	var cmd *exec.Cmd
	if r.program != "" {
		cmd = shell(ctx, r.program)
		cmd.Env = os.Environ()
	} else {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd = exec.CommandContext(ctx, self, "agent")
		cmd.Env = mcpclient.BaseEnviron()
	}
	cmd.Dir = r.workspace
	cmd.Env = append(cmd.Env, envConfig+"="+config, envTurn+"="+strconv.Itoa(turn))
	cmd.WaitDelay = 2 * time.Second
	ownGroup(cmd)
	defer endGroup(cmd)
	run := r.relay
	if r.program != "" {
		run = r.pass
	}
	err := run(cmd)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errAgent, err)
	}
	return nil
}

// pass gives a real agent program the output of this one.
func (r *runner) pass(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = io.Writer(r.story), io.Writer(r.story)
	if file, ok := r.story.out.(*os.File); ok { // a terminal, perhaps
		cmd.Stdout, cmd.Stderr = file, os.Stderr
	}
	return cmd.Run()
}

// relay tells what the scripted agent says, and acknowledges each line.
func (r *runner) relay(cmd *exec.Cmd) error {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = r.story
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		r.story.say(theAgent, "%s", lines.Text())
		fmt.Fprintln(stdin)
	}
	_ = stdin.Close()
	return cmd.Wait()
}
