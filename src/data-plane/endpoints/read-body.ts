import { isAscii, isUtf8 } from 'node:buffer';
import type { EndpointName } from '../../common/core/endpoint.js';
import { GatewayError } from '../../common/core/errors.js';
import type { JsonObject } from '../../common/core/exchange.js';
import { getHeader, type HeaderList } from '../../common/http/headers.js';
import { isJsonObject, type JsonValue, parseJson } from '../../common/json/json.js';
import {
  certainlyQuickBytes,
  type JsonScan,
  parseCost,
  quickCost,
  scanJson,
  tokenListCaps,
} from '../../common/json/json-scan.js';
import { chatRules } from './rules/chat-rules.js';
import { geminiCountRules, geminiEmbedRules, generateContentRules } from './rules/gemini-rules.js';
import { countTokensRules, messagesRules } from './rules/messages-rules.js';
import { rerankRules } from './rules/rerank-rules.js';
import { responsesRules } from './rules/responses-rules.js';
import { type BodyRules, checkBody } from './rules/rules.js';
import { completionRules, embeddingRules, moderationRules } from './rules/text-rules.js';

/** For endpoints whose bodies are passed on as they are. */
const noRules: BodyRules = { fields: new Map(), required: [], open: true };

/** The checked contents of a body. */
export interface ReadBody {
  readonly json: JsonObject;
  /** What `scanJson` counted in its text. */
  readonly tokens: number;
  readonly model: string | null;
  readonly stream: boolean;
}

const rulesOf: Readonly<Partial<Record<EndpointName, BodyRules>>> = {
  chat: chatRules,
  completions: completionRules,
  embeddings: embeddingRules,
  moderations: moderationRules,
  rerank: rerankRules,
  messages: messagesRules,
  'count-tokens': countTokensRules,
  responses: responsesRules,
  'gemini-generate': generateContentRules,
  'gemini-count-tokens': geminiCountRules,
  'gemini-embed': geminiEmbedRules,
};

/** The body of an endpoint that parses it, read and checked; null: it would take too long on the event loop. Throws the error for the client. */
export function readQuickly(endpoint: EndpointName, bytes: Buffer): ReadBody | null {
  if (bytes.length > quickCost) return null;
  const scan = scanBody(endpoint, bytes);
  if (bytes.length > certainlyQuickBytes && parseCost(bytes.length, scan) > quickCost) return null;
  return understand(endpoint, bytes, scan);
}

/** Parses and checks a body that `scanBody` let pass. */
export function understand(
  endpoint: EndpointName,
  bytes: Buffer,
  { bigNumbers, tokens }: JsonScan,
): ReadBody {
  // The usual case, and the cheapest: text without a character beyond ASCII.
  const text = isAscii(bytes) ? bytes.toString('latin1') : decodeBody(bytes);
  let json: JsonValue;
  try {
    json = bigNumbers ? parseJson(text, true) : (JSON.parse(text) as JsonValue);
  } catch (thrown) {
    // The parser's own message quotes the body, which is the client's: only its position may be reported.
    const position = /at position (\d+)/.exec((thrown as Error).message)?.[1];
    throw malformed(
      `The body is not valid JSON${position === undefined ? '' : ` (at position ${position})`}.`,
    );
  }
  if (!isJsonObject(json)) throw malformed('The body must be a JSON object.');
  checkBody(json, rulesOf[endpoint] ?? noRules);
  return summarise(json, tokens);
}

/** The fields of a checked body that routing needs. */
export function summarise(json: JsonObject, tokens: number): ReadBody {
  const { model } = json;
  return { json, tokens, model: typeof model === 'string' ? model : null, stream: json['stream'] === true };
}

const malformed = (message: string): GatewayError => new GatewayError('body_malformed', message);

/** Is the body unencoded JSON? A missing content type counts as JSON. */
export function checkBodyHeaders(headers: HeaderList): void {
  const type = getHeader(headers, 'content-type');
  if (type !== undefined && type !== 'application/json' && !isJsonType(type)) {
    throw new GatewayError('invalid_request', 'content-type must be application/json, in UTF-8.', {
      param: 'content-type',
    });
  }
  const encoding = getHeader(headers, 'content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new GatewayError(
      'unsupported_media_type',
      'content-encoding is not supported: send the body uncompressed.',
      {
        param: 'content-encoding',
      },
    );
  }
}

const jsonType = /^application\/json[ \t]*(?:;[ \t]*(?:charset[ \t]*=[ \t]*"?utf-?8"?[ \t]*)?)*$/i;
const isJsonType = (type: string): boolean => type.length <= 128 && jsonType.test(type);

/** One pass over the bytes: refuses what would be too expensive to parse. */
export function scanBody(endpoint: EndpointName, bytes: Buffer): JsonScan {
  if (bytes.length === 0) throw malformed('The body is empty: send a JSON object.');
  const scan = scanJson(bytes, endpoint === 'embeddings' ? tokenListCaps : undefined);
  if (scan.problem !== null) throw malformed(`The body cannot be read: it ${scan.problem}.`);
  return scan;
}

/** UTF-8 and nothing else. */
export function decodeBody(bytes: Buffer): string {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw malformed('The body begins with a byte order mark: send it without.');
  }
  if (!isUtf8(bytes)) throw malformed('The body is not valid UTF-8.');
  return bytes.toString('utf8');
}

/** A provider's UTF-8. Invalid bytes become U+FFFD: an otherwise complete answer is not refused for them. */
export const answerText = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8');
