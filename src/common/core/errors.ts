/** The cause of a failure: determines the log level, the metrics label and whether another target may help. */
export type Blame = 'client' | 'upstream' | 'gateway';

interface ErrorRow {
  readonly status: number;
  /** `error.type` of the OpenAI-shaped body. */
  readonly type: string;
  readonly blame: Blame;
  /** May the next target be tried? */
  readonly fallback: boolean;
}

const row = (status: number, type: string, blame: Blame, fallback = false): ErrorRow => ({
  status,
  type,
  blame,
  fallback,
});

/**
 * Every code the data plane can answer with. Codes `01`, `03` and `AB01` are those of the specification;
 * the rest are words. `docs/errors.md` lists the same rows, which a test checks.
 */
export const errorTable = {
  invalid_request: row(400, 'invalid_request_error', 'client'),
  body_malformed: row(400, 'invalid_request_error', 'client'),
  bad_framing: row(400, 'invalid_request_error', 'client'),
  missing_provider: row(400, 'invalid_request_error', 'client'),
  unknown_provider: row(400, 'invalid_request_error', 'client', true),
  invalid_custom_host: row(400, 'invalid_request_error', 'client', true),
  config_override_blocked: row(400, 'invalid_request_error', 'client'),
  /** A call has inline fields that its organisation allows only in saved configs and stored providers. */
  inline_config_blocked: row(400, 'invalid_request_error', 'client'),
  inline_provider_blocked: row(400, 'invalid_request_error', 'client'),
  inline_custom_host_blocked: row(400, 'invalid_request_error', 'client'),
  inline_forward_headers_blocked: row(400, 'invalid_request_error', 'client'),
  unsupported_by_provider: row(400, 'invalid_request_error', 'client', true),
  AB01: row(400, 'invalid_request_error', 'client'),
  /** A gateway key that is missing, malformed or unknown. */
  '03': row(401, 'authentication_error', 'client'),
  /** A JSON web token that cannot be checked: the key set of its organisation cannot be fetched. */
  '033': row(401, 'authentication_error', 'client'),
  /** A gateway key or a JSON web token past its expiry. */
  '01': row(401, 'authentication_error', 'client'),
  /** A gateway key that became invalid while its request ran. */
  key_revoked: row(401, 'authentication_error', 'client'),
  /** A stored provider past its expiry. */
  virtual_key_expired: row(401, 'virtual_key_expired_error', 'client', true),
  permission_denied: row(403, 'permission_error', 'client'),
  /** A stored provider signs in as the gateway itself, and its workspace may not. */
  own_identity_blocked: row(403, 'permission_error', 'client', true),
  not_found: row(404, 'not_found_error', 'client'),
  config_not_found: row(400, 'invalid_request_error', 'client'),
  method_not_allowed: row(405, 'invalid_request_error', 'client'),
  request_timeout: row(408, 'timeout_error', 'upstream', true),
  /** A stored provider whose credential is missing, or is in a place that the gateway cannot read. */
  provider_credential_missing: row(412, 'provider_credential_missing_error', 'client', true),
  model_not_allowed: row(412, 'model_not_allowed_error', 'client', true),
  body_too_large: row(413, 'invalid_request_error', 'client'),
  unsupported_media_type: row(415, 'invalid_request_error', 'client'),
  /** Too many unknown gateway keys from one network. */
  too_many_unknown_keys: row(429, 'rate_limit_error', 'client'),
  client_gone: row(499, 'client_gone', 'client'),
  /** Only in the log: another target answered first. */
  hedge_lost: row(503, 'server_error', 'gateway'),
  internal: row(500, 'server_error', 'gateway', true),
  upstream_connect_failed: row(502, 'upstream_error', 'upstream', true),
  upstream_tls: row(502, 'upstream_error', 'upstream', true),
  upstream_reset: row(502, 'upstream_error', 'upstream', true),
  upstream_truncated: row(502, 'upstream_error', 'upstream', true),
  upstream_invalid_response: row(502, 'upstream_error', 'upstream', true),
  upstream_too_large: row(502, 'upstream_error', 'upstream', true),
  upstream_redirect: row(502, 'upstream_error', 'upstream', true),
  upstream_stream_error: row(502, 'upstream_error', 'upstream', true),
  /** A streamed upload of which a part was already sent to a target that failed. */
  body_already_sent: row(502, 'upstream_error', 'upstream'),
  draining: row(503, 'server_error', 'gateway'),
  /** A required plugin is switched off. */
  plugin_off: row(503, 'server_error', 'gateway'),
  overloaded: row(503, 'server_error', 'gateway'),
  upstream_busy: row(503, 'server_error', 'gateway', true),
  store_unavailable: row(503, 'server_error', 'gateway'),
  /** A credential is mapped to a secret reference whose manager gave no value. */
  secret_unavailable: row(503, 'server_error', 'gateway', true),
  upstream_connect_timeout: row(504, 'timeout_error', 'upstream', true),
  upstream_headers_timeout: row(504, 'timeout_error', 'upstream', true),
  upstream_first_token_timeout: row(504, 'timeout_error', 'upstream', true),
  upstream_idle_timeout: row(504, 'timeout_error', 'upstream', true),
} as const satisfies Record<string, ErrorRow>;

/** Codes of stages. A stage written in TypeScript adds its own: `declare module` of this file, in its folder. */
// biome-ignore lint/suspicious/noEmptyInterface: members are added by the stages.
export interface StageErrors {}

export type ErrorCode = keyof typeof errorTable | keyof StageErrors;

/** A code of a stage. */
export interface StageErrorRow {
  /** 400 to 599. */
  readonly status: number;
  /** `error.type` of the OpenAI-shaped body. */
  readonly type: string;
  readonly blame: Blame;
  /** May the next target be tried? Absent: no. */
  readonly fallback?: boolean;
  /** When clients get it. */
  readonly doc: string;
}

/** Rows of stages by code, each with the name of its stage. Filled before the first request. */
const stageRows = new Map<string, ErrorRow & { readonly stage: string }>();

/** Adds the codes of a stage. Throws if one is taken, or its status is not that of an error. */
export function addErrors(stage: string, rows: Readonly<Record<string, StageErrorRow>>): void {
  for (const [code, { status, type, blame, fallback = false }] of Object.entries(rows)) {
    const owner = Object.hasOwn(errorTable, code) ? 'the gateway' : stageRows.get(code)?.stage;
    if (owner !== undefined && owner !== stage)
      throw new Error(`The error code ${code} of ${stage} belongs to ${owner}: give it another name.`);
    if (!(Number.isInteger(status) && status >= 400 && status <= 599))
      throw new Error(`The error code ${code} of ${stage} needs a status of 400 to 599.`);
    stageRows.set(code, { status, type, blame, fallback, stage });
  }
}

/** Is there such a code, of the gateway or of a stage? */
export const isErrorCode = (code: string): boolean => Object.hasOwn(errorTable, code) || stageRows.has(code);

function rowOf(code: ErrorCode): ErrorRow {
  const row: ErrorRow | undefined = (errorTable as Readonly<Record<string, ErrorRow>>)[code];
  return row ?? stageRows.get(code) ?? errorTable.internal;
}

export interface ErrorDetail {
  /** The field or header at fault, as a path: `messages[0].role`. */
  param?: string;
  /** Several findings at once; each `path: <p>, message: <m>`. */
  errors?: readonly string[];
  /** Milliseconds after which the client may retry. */
  retryAfterMs?: number;
  /** `error.type`, if the code has more than one. */
  type?: string;
  /** Additional headers of the answer: names in lower case, each followed by its value. */
  headers?: readonly string[];
  /** Which limit refused: a member of the error's body. */
  limit?: Readonly<Record<string, string | number | null>>;
  /** Does the client's stream already contain the provider's own error? Then the gateway adds no error event. */
  isReported?: boolean;
  cause?: unknown;
}

/** Characters. Both may quote what a client or a provider sent, of any length. */
const longestMessage = 8192;
const longestParam = 512;

const bounded = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;

/** The one error type. `message` is public; `cause` is only logged. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly errors: readonly string[] | null;
  readonly retryAfterMs: number | null;
  readonly isReported: boolean;
  readonly headers: readonly string[] | null;
  readonly limit: Readonly<Record<string, string | number | null>> | null;
  readonly #type: string | null;

  constructor(code: ErrorCode, message: string, detail?: ErrorDetail) {
    super(
      bounded(message, longestMessage),
      detail?.cause === undefined ? undefined : { cause: detail.cause },
    );
    this.name = 'GatewayError';
    this.code = code;
    this.param = detail?.param == null ? null : bounded(detail.param, longestParam);
    this.errors = detail?.errors ?? null;
    this.retryAfterMs = detail?.retryAfterMs ?? null;
    this.isReported = detail?.isReported ?? false;
    this.headers = detail?.headers ?? null;
    this.limit = detail?.limit ?? null;
    this.#type = detail?.type ?? null;
  }

  /** The same error, marked as already reported in the client's stream. */
  asReported(): GatewayError {
    return new GatewayError(this.code, this.message, { cause: this.cause, isReported: true });
  }

  get status(): number {
    return rowOf(this.code).status;
  }

  get type(): string {
    return this.#type ?? rowOf(this.code).type;
  }

  get blame(): Blame {
    return rowOf(this.code).blame;
  }

  get fallback(): boolean {
    return rowOf(this.code).fallback;
  }

  /** Turns any thrown value into a GatewayError; unexpected ones become `internal` with their cause. */
  static from(thrown: unknown): GatewayError {
    if (thrown instanceof GatewayError) return thrown;
    return new GatewayError('internal', 'The gateway failed to handle this request.', { cause: thrown });
  }
}
