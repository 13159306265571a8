// What the package exports as `headgate/plugin`, for plugins that are written in TypeScript or want type checks.
// Types only, except `definePlugin` and `defineSlot`: a plugin may resolve another copy of this package than the gateway that runs it,
// and classes of that copy would not be the gateway's. Errors are made with `host.error`.

export type { Principal } from '../access/principal.js';
export type { Awaitable, Directory } from '../core/directory.js';
export type { ErrorCode, ErrorDetail, GatewayError, StageErrorRow } from '../core/errors.js';
export type {
  Attempt,
  AttemptRecord,
  BodyEdit,
  ClientRequest,
  EditableCall,
  Exchange,
  JsonObject,
  Outcome,
  Reply,
  StreamEvent,
  UpstreamCall,
} from '../core/exchange.js';
export { defineSlot, type Slot } from '../core/slot.js';
export type { ResolvedConfig, Target } from '../core/target.js';
export type { Usage } from '../core/usage.js';
export type { CheckReply, CheckRequest } from '../guardrails/check-request.js';
export type {
  PluginCheck,
  PluginCheckContext,
  PluginCheckResult,
  PluginChecks,
} from '../guardrails/plugin-check.js';
export type { HeaderList } from '../http/headers.js';
export type { Trace } from '../http/trace.js';
export type { Plan } from '../ipc/explained.js';
export type {
  FormatAnswer,
  FormatError,
  FormatPiece,
  FormatRequest,
  FormatStream,
  PluginFormat,
  PluginFormats,
} from '../vocabulary/plugin-format.js';
export type {
  PluginProvider,
  PluginProviderAuth,
  PluginProviderRows,
} from '../vocabulary/plugin-provider.js';
export type { Capabilities, CapabilityName } from './host.js';
export type { LedgerValue, StageLedgerField } from './ledger-fields.js';
export {
  definePlugin,
  type Hooks,
  type Host,
  type HostWith,
  type JsonSchema,
  type Logger,
  type Plugin,
  type PluginJobs,
  type PluginParts,
} from './plugin.js';
export type { Counter, SharedState, StateKind, Values } from './shared-state.js';
export type { RecordSink, SinkOptions } from './sink.js';
export type { StageSetting } from './stage-settings.js';
export type { HeldText, TextKind, TextPiece, TextResult, TextRole } from './texts/text-piece.js';
