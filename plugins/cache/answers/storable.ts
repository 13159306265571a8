import type { Format } from '../../../src/common/core/endpoint.js';
import type { JsonObject } from '../../../src/common/core/exchange.js';
import { isJsonObject } from '../../../src/common/json/json.js';

/** Finish reasons of an answer that is complete, or as long as was allowed; by OpenAI's names and providers' own. */
const wholeEnds: ReadonlySet<unknown> = new Set([
  'stop',
  'length',
  'tool_calls',
  'function_call',
  'end_turn',
  'stop_sequence',
  'max_tokens',
  'tool_use',
  'STOP',
  'MAX_TOKENS',
  'COMPLETE',
  'STOP_SEQUENCE',
  'TOOL_CALL',
]);

/**
 * May this answer be repeated: is it complete, and neither refused nor cut short by a filter? Answers of unknown
 * form are not stored. `format`: the client's.
 */
export function isStorable(format: Format, answer: JsonObject): boolean {
  if (isSet(answer['error'])) return false;
  switch (format) {
    case 'openai-chat':
    case 'openai-completions':
      return (
        areWhole(objects(answer['choices']), 'finish_reason') && !objects(answer['choices']).some(refuses)
      );
    case 'openai-embeddings':
      return objects(answer['data']).length > 0;
    case 'openai-responses':
      return answer['status'] === 'completed' && !objects(answer['output']).some(refusesInPart);
    case 'anthropic-messages':
      return wholeEnds.has(answer['stop_reason']);
    case 'gemini-generate-content':
      return !isBlocked(answer) && areWhole(objects(answer['candidates']), 'finishReason');
    case 'gemini-embed-content':
      return isJsonObject(answer['embedding']);
    case 'gemini-batch-embed-contents':
      return objects(answer['embeddings']).length > 0;
    default:
      return false;
  }
}

/** The same for the events of a stream that reached its format's own end. */
export function isStorableStream(format: Format, events: readonly JsonObject[]): boolean {
  if (events.some((event) => isSet(event['error']))) return false;
  switch (format) {
    case 'openai-chat':
    case 'openai-completions':
      return endWhole(events, 'choices', 'finish_reason');
    case 'openai-responses': {
      const end = events.find((event) => event['type'] === 'response.completed')?.['response'];
      return isJsonObject(end) && isStorable(format, end);
    }
    case 'anthropic-messages':
      return events.some(
        ({ type, delta }) =>
          type === 'message_delta' && isJsonObject(delta) && wholeEnds.has(delta['stop_reason']),
      );
    case 'gemini-generate-content':
      return !events.some(isBlocked) && endWhole(events, 'candidates', 'finishReason');
    default:
      return false;
  }
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

const areWhole = (choices: readonly JsonObject[], end: string): boolean =>
  choices.length > 0 && choices.every((choice) => wholeEnds.has(choice[end]));

/** Does each choice end well, and none with a refusal? */
function endWhole(events: readonly JsonObject[], list: string, end: string): boolean {
  const ends = new Map<unknown, unknown>();
  for (const event of events) {
    for (const choice of objects(event[list])) {
      if (refuses(choice)) return false;
      const index = choice['index'] ?? 0;
      ends.set(index, choice[end] ?? ends.get(index));
    }
  }
  return ends.size > 0 && [...ends.values()].every((value) => wholeEnds.has(value));
}

function refuses(choice: JsonObject): boolean {
  const said = choice['message'] ?? choice['delta'];
  return isJsonObject(said) && typeof said['refusal'] === 'string' && said['refusal'] !== '';
}

const refusesInPart = ({ content }: JsonObject): boolean =>
  objects(content).some(({ type }) => type === 'refusal');

function isBlocked({ promptFeedback }: JsonObject): boolean {
  return isJsonObject(promptFeedback) && isSet(promptFeedback['blockReason']);
}
