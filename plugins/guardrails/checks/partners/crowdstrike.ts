import { ServiceFailed } from '../remote/calls.js';
import { isPlain } from '../request/values.js';
import { partnerCheck, records } from './partner.js';

/** The text of a message that the service gives back; null: it has another form. */
const textIn = (message: unknown): string | null => {
  const content = isPlain(message) ? message['content'] : null;
  return typeof content === 'string' ? content : null;
};

/** CrowdStrike AIDR: policies of a collector, which may change texts. POST /v1/guard_chat_completions */
export const crowdstrike = partnerCheck({
  id: 'crowdstrike-aidr.guardChatCompletions',
  redacts: [],
  async judge(ask) {
    const { phase, texts, provider, model, metadata } = ask.context;
    const isBefore = phase === 'before';
    const messages = texts.map((content) => ({ role: isBefore ? 'user' : 'assistant', content }));
    const answer = await ask.post(
      `${ask.need('baseUrl').replace(/\/+$/, '')}/v1/guard_chat_completions`,
      ask.bearer,
      {
        guard_input: isBefore ? { messages } : { choices: messages.map((message) => ({ message })) },
        event_type: isBefore ? 'input' : 'output',
        app_id: 'headgate',
        ...(metadata['_user'] !== undefined && { user_id: metadata['_user'] }),
        ...(provider !== null && { llm_provider: provider }),
        ...(model !== null && { model }),
      },
    );
    const { result } = answer;
    if (answer['status'] !== 'Success' || !isPlain(result))
      throw new ServiceFailed(`${ask.name} could not judge the text.`);
    const data = { policy: result['policy'] ?? null };
    if (result['blocked'] === true) return { verdict: false, data };
    if (result['transformed'] !== true) return { verdict: true, data };
    const output = isPlain(result['guard_output']) ? result['guard_output'] : {};
    const given = isBefore
      ? records(output['messages'])
      : records(output['choices']).map((choice) => choice['message']);
    const transformed = given.map(textIn);
    if (transformed.length !== texts.length || transformed.includes(null)) throw ask.unexpected();
    return { verdict: true, data, transformed: transformed as string[] };
  },
});
