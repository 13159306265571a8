import { isSource, type Source } from '../../../src/common/bytes/body.js';
import type { Exchange, JsonObject, Reply } from '../../../src/common/core/exchange.js';
import type { GuardrailRules } from '../../../src/common/core/guardrail.js';
import { getHeader, type HeaderList } from '../../../src/common/http/headers.js';
import { isJsonObject, parseJson } from '../../../src/common/json/json.js';
import { jsonBytes } from '../../../src/common/json/json-bytes.js';
import { isQuick } from '../../../src/common/json/json-scan.js';
import { writeJsonInSlices } from '../../../src/common/json/json-slices.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import type { CheckPhase } from '../check.js';
import { factsOf } from '../facts.js';
import { HookOutcome } from '../run/outcome.js';
import type { GuardrailRunner } from '../run/runner.js';
import { Subject } from '../run/subject.js';
import type { UnredactedBodies } from '../run/unredacted.js';
import { mayBeReadOtherwise } from '../texts/other-reading.js';
import { partsAt } from '../texts/parts.js';
import { collect } from './collected-body.js';

/** Bytes of a body that is passed through and judged. */
const maxBytes = 8 * 1024 * 1024;
/** Bytes of a body that is parsed and written on the event loop. */
const parseAtMost = 256 * 1024;

/** What guardrails made of a body. */
interface Judged {
  readonly outcomes: ReadonlyMap<GuardrailRules, HookOutcome>;
  /** The body; a Source if it could not be read whole. */
  readonly body: Buffer | Source;
  readonly isChanged: boolean;
}

/** Judges the bodies of calls that are passed through, by the paths at which guardrails expect texts. */
export class PassthroughBodies {
  constructor(
    readonly host: HostWith<'requests' | 'bodies'>,
    readonly runner: GuardrailRunner,
    readonly unredacted: UnredactedBodies,
  ) {}

  /** The outcome of a guardrail by which a call cannot be judged, since it names no paths; null: there is none. */
  unjudged(guardrails: readonly GuardrailRules[], phase: CheckPhase): [GuardrailRules, HookOutcome] | null {
    const found = guardrails.find(
      ({ deny, async, passthroughAllowed, passthroughPaths }) =>
        deny && !async && !passthroughAllowed && passthroughPaths.length === 0,
    );
    return found === undefined ? null : [found, notJudged(found, phase)];
  }

  async request(x: Exchange, guardrails: readonly GuardrailRules[], stream: Source): Promise<Judged> {
    const judged = await this.#judge(x, guardrails, 'before', stream, x.request.headers);
    if (Buffer.isBuffer(judged.body)) {
      x.request.bytes = judged.body;
      x.request.stream = null;
    } else {
      x.request.stream = judged.body as Source;
    }
    return judged;
  }

  answer(x: Exchange, guardrails: readonly GuardrailRules[], reply: Reply): Promise<Judged> {
    const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : (reply.body ?? Buffer.alloc(0));
    return this.#judge(x, guardrails, 'after', body, reply.events ? [] : reply.headers);
  }

  async #judge(
    x: Exchange,
    guardrails: readonly GuardrailRules[],
    phase: CheckPhase,
    body: Buffer | Source,
    headers: HeaderList,
  ): Promise<Judged> {
    const wanted = guardrails.filter(({ async, passthroughPaths }) => !async && passthroughPaths.length > 0);
    const unread = (left: Buffer | Source): Judged => ({
      outcomes: new Map(wanted.map((one) => [one, notJudged(one, phase)])),
      body: left,
      isChanged: false,
    });
    if (wanted.length === 0 || !isJson(headers)) return unread(body);
    const { bytes, source } = isSource(body) ? await collect(body, maxBytes) : { bytes: body, source: body };
    if (bytes === null) return unread(source);
    let json = await this.#read(bytes);
    if (json === null) return unread(bytes);
    const outcomes = new Map<GuardrailRules, HookOutcome>();
    let isChanged = false;
    for (const guardrail of wanted) {
      const read = (one: JsonObject) => ({ judged: partsAt(one, guardrail.passthroughPaths), others: [] });
      const [request, answer] = phase === 'before' ? [json, null] : [null, json];
      const subject: Subject = new Subject(phase, () => factsOf(x), request, answer, read, read(json));
      const [outcome] = await this.runner.run(x, [guardrail], subject);
      outcomes.set(guardrail, outcome!);
      isChanged ||= subject.isChanged;
      json = (phase === 'before' ? subject.body : subject.answer) ?? json;
    }
    if (isChanged) this.unredacted.keep(x, phase === 'before' ? 'request' : 'response', bytes);
    const isLong = bytes.length > parseAtMost;
    const isWritten = isChanged || (phase === 'before' && mayBeReadOtherwise(bytes, json, null));
    const written = isWritten ? (isLong ? await writeJsonInSlices(json) : jsonBytes(json)) : bytes;
    return { outcomes, body: written, isChanged };
  }

  async #read(bytes: Buffer): Promise<JsonObject | null> {
    if (bytes.length > parseAtMost || !isQuick(bytes)) return this.host.readLarge(bytes);
    try {
      const json = parseJson(bytes.toString('utf8'));
      return isJsonObject(json) ? json : null;
    } catch {
      return null;
    }
  }
}

const isJson = (headers: HeaderList): boolean =>
  /^application\/([\w.+-]+\+)?json\b/i.test(getHeader(headers, 'content-type') ?? '') &&
  /^(identity)?$/i.test(getHeader(headers, 'content-encoding') ?? '');

/** Counts as the guardrail has it in `deny`. */
function notJudged(guardrail: GuardrailRules, phase: CheckPhase): HookOutcome {
  const message =
    guardrail.passthroughPaths.length === 0
      ? 'The guardrail has no passthrough_paths, which say where the texts of this call are.'
      : `Only JSON objects of at most ${maxBytes} bytes are judged on this path.`;
  const result = { verdict: false, error: { name: 'CheckNotRun', message } };
  const results = guardrail.rules.map(() => ({ result, ran: false, ms: 0 }));
  return new HookOutcome(guardrail, phase, results, Date.now());
}
