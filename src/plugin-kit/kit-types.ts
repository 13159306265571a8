import type { Principal } from '../common/access/principal.js';
import type { StreamEvent } from '../common/core/exchange.js';
import type { CapabilityName } from '../common/plugin-host/host.js';
import type { LedgerValue } from '../common/plugin-host/ledger-fields.js';
import type { Plugin } from '../common/plugin-host/plugin.js';

/** A plugin, or the file (or folder) that exports it. */
// biome-ignore lint/suspicious/noExplicitAny: a plugin takes options of its own, which only it can name.
export type PluginOrFile = Plugin<any, CapabilityName> | Plugin<any, never> | string | URL;

/** A request of a client; what is not given is a chat completion. */
export interface InjectedRequest {
  /** `POST` where absent. */
  readonly method?: string;
  /** With its query. `/v1/chat/completions` where absent. */
  readonly path?: string;
  /** Names in any case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Text is sent as it is, an object as JSON. Absent: one message, `Hello`, in the path's format. */
  readonly body?: string | object;
  /** For an absent body: is a stream requested? */
  readonly stream?: boolean;
  /** The routing config; the provider `@simulated` where absent. */
  readonly config?: object;
  /** What is different of the caller; null: no key is sent. */
  readonly principal?: Partial<Principal> | null;
  /** When it is aborted, the client disconnects. */
  readonly signal?: AbortSignal;
}

/** A request as a provider received it. */
export interface ProviderCall {
  readonly method: string;
  readonly url: string;
  /** Names in lower case; of equal ones the last. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body, parsed; null: it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads fields of a body that it expects.
  readonly json: any;
}

/** The answer of a provider, in place of the simulated one. */
export interface ProviderAnswer {
  /** 200 unless given. */
  readonly status?: number;
  /** `content-type` is `application/json` unless given. */
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; a list of texts in these pieces. */
  readonly body: string | object | readonly string[];
}

/** How the request ended, as the hook `log` gets it. */
export interface InjectedOutcome {
  /** HTTP status that the client got; 499: it disconnected before that. */
  readonly status: number;
  /** Code of the failure that ended it; null: none. */
  readonly error: string | null;
  readonly message: string | null;
  readonly totalMs: number;
}

/** What the ledger gets of the request. */
export interface InjectedRow {
  readonly provider: string | null;
  readonly model: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Ledger fields that plugins have set, by plugin. */
  readonly fields: Readonly<Record<string, Readonly<Record<string, LedgerValue>>>>;
  /** Calls of providers, with how each ended. */
  readonly attempts: readonly {
    readonly provider: string;
    readonly status: number;
    readonly error: string | null;
  }[];
  readonly usage: { readonly input: number; readonly output: number };
  readonly cache: string;
  /** Fields of the body that were dropped, since the provider's format does not have them. */
  readonly dropped: readonly string[];
}

/** A line of the process log. */
export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What became of a request. */
export interface Injected {
  readonly status: number;
  /** Names in lower case; of equal ones the last. */
  readonly headers: Readonly<Record<string, string>>;
  /** All of the answer. */
  readonly body: string;
  /** The body, parsed; null: it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads fields of a body that it expects.
  readonly json: any;
  /** Events of a stream; none: it was no stream. */
  readonly events: readonly StreamEvent[];
  /** The text of the answer, whole or streamed, in any format. */
  readonly text: string;
  readonly outcome: InjectedOutcome;
  readonly row: InjectedRow;
  /** Requests that providers received on its behalf, in order. */
  readonly calls: readonly ProviderCall[];
  /** Lines of the process log that were written on its behalf. */
  readonly log: readonly LogLine[];
}

/** How a plugin is placed and set up. */
export interface OpenOptions {
  /** Where in the chain; after `config` unless given. */
  readonly before?: string;
  readonly after?: string;
  /** Answers in place of the simulated provider; undefined: it answers. */
  answer?(call: ProviderCall): ProviderAnswer | undefined;
  /** Milliseconds that a hook may take; 30,000 unless given. */
  readonly hookTimeoutMs?: number;
}

/** A gateway within this process: one plugin beside the gateway's own stages, with a simulated provider. */
export interface OpenedPlugin {
  inject(request?: InjectedRequest): Promise<Injected>;
  /** Values of `/metrics`, by name and labels: `name{label="value"}`. */
  metrics(): Readonly<Record<string, number>>;
  /** All lines of the process log so far. */
  readonly log: readonly LogLine[];
  /** All requests that providers received so far. */
  readonly calls: readonly ProviderCall[];
  /** Calls `close` of the plugin, and removes what was opened. */
  close(): Promise<void>;
}

/** Opens plugins in a chain without sockets; loaded with the first of them. */
export interface PluginHarness {
  openPlugin(plugin: PluginOrFile, options: unknown, how?: OpenOptions): Promise<OpenedPlugin>;
}
