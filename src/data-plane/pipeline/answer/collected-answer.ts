import { joinInTurns, turnBytes } from '../../../common/bytes/copy-in-turns.js';
import type { Pieces } from '../../../common/bytes/pieces.js';
import type { Attempt, Exchange, JsonObject } from '../../../common/core/exchange.js';
import type { Usage } from '../../../common/core/usage.js';
import { type HeaderList, setHeader } from '../../../common/http/headers.js';
import { parseJson } from '../../../common/json/json.js';
import { jsonBytes } from '../../../common/json/json-bytes.js';
import { isQuick, quickCost } from '../../../common/json/json-scan.js';
import { writeJsonInSlices } from '../../../common/json/json-slices.js';
import { outerFields } from '../../../common/json/outer-fields.js';
import { longestModel } from '../../../common/vocabulary/model-name.js';
import type { Outgoing } from '../outgoing/outgoing.js';
import type { Pipeline } from '../parts.js';
import type { SecretMask } from '../secrets/secret-mask.js';
import { compressionOf, decoderOf, invalidAnswer, parseObject } from './answer-body.js';
import { providerErrorBody } from './provider-error.js';

/** Parsing an answer up to this size does not block the event loop; of a larger one only both ends are checked. */
const parseAtMost = 512 * 1024;
/** A converted answer is also written again: for this size 12 ms with vectors, 3 ms with text. */
const convertAtMost = 256 * 1024;
/** An answer that is passed on is parsed without keeping digits: vectors of `parseAtMost` bytes take 5 ms. */
const passCost = 1.75 * quickCost;
/** Where the formats that are passed on have what the log needs. */
const reported = ['usage', 'usageMetadata', 'meta', 'model', 'modelVersion', 'service_tier'];
const nothing = Buffer.alloc(0);

/** An answer that was read whole, and what the client gets of it. */
export class CollectedAnswer {
  /** The provider's body, uncompressed; null: not yet. */
  plain: Buffer | null = null;

  /** `isWanted`: does the client still wait for it? Checked after each pause; what no client gets may be empty. */
  constructor(
    readonly pipeline: Pipeline,
    readonly x: Exchange,
    readonly outgoing: Outgoing,
    readonly attempt: Attempt,
    readonly head: { readonly status: number; readonly headers: HeaderList },
    readonly mask: SecretMask,
    readonly isWanted: () => boolean,
  ) {}

  /** The bytes for the client, at once if no pause is needed; records usage and model. Fails with a GatewayError. */
  read(pieces: Pieces): Buffer | Promise<Buffer> {
    if (pieces.length <= turnBytes) return this.#decode(pieces.bytes());
    return joinInTurns(pieces.take()).then((bytes) => (this.isWanted() ? this.#decode(bytes) : nothing));
  }

  #decode(bytes: Buffer): Buffer | Promise<Buffer> {
    const coding = compressionOf(this.head.headers);
    if (coding === null) return this.#understand(bytes);
    const decode = decoderOf(coding);
    if (decode === undefined) {
      throw invalidAnswer(this.outgoing, `an answer in the coding ${JSON.stringify(coding.slice(0, 40))}`);
    }
    return decode(bytes, this.pipeline.limits.maxAnswerBytes).then(
      (plain) => (this.isWanted() ? this.#understand(plain) : nothing),
      (cause) => {
        throw invalidAnswer(this.outgoing, `a ${coding} body that does not decode`, cause);
      },
    );
  }

  #understand(bytes: Buffer): Buffer | Promise<Buffer> {
    this.plain = bytes;
    if (this.head.status >= 300) return this.#readError(bytes);
    if (this.outgoing.conversion === null)
      return bytes.length > parseAtMost || isQuick(bytes, passCost)
        ? this.#readAnswer(bytes)
        : this.#readDense(bytes);
    if (bytes.length > convertAtMost || !isQuick(bytes)) return this.#convertLarge(bytes);
    return this.#readAnswer(bytes);
  }

  /** Parsed in another thread, and written in slices. */
  async #convertLarge(bytes: Buffer): Promise<Buffer> {
    const json = await this.pipeline.bodies.readAnswer(bytes);
    return this.isWanted() ? writeJsonInSlices(this.#clientJson(json)) : nothing;
  }

  /** The provider's own bytes, of so many values that they are parsed in another thread. */
  async #readDense(bytes: Buffer): Promise<Buffer> {
    const json = await this.pipeline.bodies.readAnswer(bytes).catch(() => undefined);
    // If it could not be read, it has no usage and no model, as one that is too long to be parsed.
    if (json !== undefined && this.isWanted()) this.#clientJson(json);
    return bytes;
  }

  /** The bytes for the client: the provider's own, or their conversion. */
  #readAnswer(bytes: Buffer): Buffer {
    const { conversion } = this.outgoing;
    if (conversion === null && bytes.length > parseAtMost) {
      if (bytes[0] !== 0x7b && !/^\s*\{/.test(bytes.toString('latin1', 0, 64)))
        throw invalidAnswer(this.outgoing, 'something that is not JSON');
      this.#record(outerFields(bytes, reported));
      return bytes;
    }
    // Exact digits matter only if the JSON is written again.
    const json = parseObject(bytes, conversion === null ? JSON.parse : parseJson);
    const forClient = this.#clientJson(json);
    return conversion === null ? bytes : jsonBytes(forClient);
  }

  /** Records usage and model of an answer; returns the client's JSON. */
  #clientJson(json: JsonObject | null): JsonObject {
    const { conversion } = this.outgoing;
    if (json === null) throw invalidAnswer(this.outgoing, 'something that is not a JSON object');
    this.#record(json);
    return conversion === null ? json : conversion.reply(json);
  }

  #record(json: JsonObject): void {
    const usage = usageOf(json, this.outgoing, this.pipeline);
    if (usage !== null) this.attempt.usage = usage;
    const model = json['model'] ?? json['modelVersion'];
    if (typeof model === 'string') this.attempt.modelUsed = this.mask.text(model.slice(0, longestModel));
  }

  #readError(bytes: Buffer): Buffer {
    const body = providerErrorBody(this.head.status, bytes, this.outgoing, this.x, this.pipeline.formats);
    if (body === null) return bytes;
    setHeader(this.head.headers, 'content-type', 'application/json');
    return Buffer.from(body);
  }
}

/** The usage in an answer of a provider, by the provider's format; null: it reports none. */
export function usageOf(
  answer: JsonObject,
  { conversion, wire }: Outgoing,
  { formats }: Pipeline,
): Usage | null {
  const reader = conversion ?? formats.get(wire) ?? formats.get('openai-chat');
  const usage = reader?.usage(answer) ?? null;
  return usage?.source === 'none' ? null : usage;
}
