package devserver

import (
	"strings"

	"go.temporal.io/server/common/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// expected begins the warnings that every start would log about what this
// server does on purpose: the frontend's HTTP API, which the Nexus endpoints
// need, is off.
const expected = "HTTP API port has not been set"

// serverLog is the server's logger on stderr, whose level can be raised.
type serverLog struct {
	logger log.Logger
	level  zap.AtomicLevel
}

// newServerLog makes the logger for a level and format of the command line.
// "never" still lets a fatal error end the process, which is what the server
// relies on.
func newServerLog(level, format string) *serverLog {
	if level == "never" {
		level = "fatal"
	}
	if format != "json" {
		format = "console"
	}
	base := log.BuildZapLogger(log.Config{Level: level, Format: format})
	raised := zap.NewAtomicLevelAt(base.Level())
	base = base.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return quietCore{Core: core, level: raised}
	}))
	return &serverLog{logger: log.NewZapLogger(base), level: raised}
}

// quiet leaves only fatal messages: services that are stopped one after the
// other log each other's absence as errors.
func (l *serverLog) quiet() { l.level.SetLevel(zap.FatalLevel) }

// quietCore drops what is below the raised level and what is expected.
type quietCore struct {
	zapcore.Core
	level zap.AtomicLevel
}

// Enabled implements zapcore.LevelEnabler.
func (c quietCore) Enabled(level zapcore.Level) bool {
	return c.level.Enabled(level) && c.Core.Enabled(level)
}

// With implements zapcore.Core.
func (c quietCore) With(fields []zapcore.Field) zapcore.Core {
	return quietCore{Core: c.Core.With(fields), level: c.level}
}

// Check implements zapcore.Core.
func (c quietCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) || strings.HasPrefix(entry.Message, expected) {
		return checked
	}
	return c.Core.Check(entry, checked)
}
