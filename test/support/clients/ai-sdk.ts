import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import {
  APICallError,
  embedMany,
  generateText,
  jsonSchema,
  type LanguageModel,
  Output,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { type Client, citySchema, type Library, type Place, toolDescription, toolName } from './client.js';

// It would say of each model with a provider before its name that it does not know it.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const schema = jsonSchema<{ city: string }>(citySchema as Parameters<typeof jsonSchema>[0]);

function clientOf(model: LanguageModel): Client {
  const asked = { model, maxRetries: 0 };
  return {
    async chat(prompt) {
      return (await generateText({ ...asked, prompt })).text;
    },
    async *stream(prompt) {
      const { fullStream } = streamText({ ...asked, prompt, onError: () => {} });
      for await (const part of fullStream) {
        if (part.type === 'error') throw part.error;
        if (part.type === 'text-delta') yield part.text;
      }
    },
    async tools(prompt, run) {
      const { text } = await generateText({
        ...asked,
        prompt,
        stopWhen: stepCountIs(2),
        tools: {
          [toolName]: tool({
            description: toolDescription,
            inputSchema: schema,
            execute: ({ city }) => run(city),
          }),
        },
      });
      return text;
    },
    async json(prompt) {
      return (await generateText({ ...asked, prompt, output: Output.object({ schema }) })).output;
    },
  };
}

function isItsError(thrown: unknown, status: number | null): boolean {
  // A stream's own error event is handed on as it came; an answer's status is in a class of the library's.
  return status === null
    ? thrown !== null && typeof thrown === 'object'
    : APICallError.isInstance(thrown) && thrown.statusCode === status;
}

const ofOpenAi = ({ url, key }: Place) => createOpenAI({ baseURL: `${url}/v1`, apiKey: key });

async function embed(place: Place, model: string, values: string[]): Promise<number[][]> {
  return (await embedMany({ model: ofOpenAi(place).embedding(model), values, maxRetries: 0 })).embeddings;
}

/** The OpenAI provider's default is the Responses API. */
export const aiOpenAiResponses: Library = {
  name: 'ai with @ai-sdk/openai',
  speaks: 'openai',
  connect: (place, model) => clientOf(ofOpenAi(place)(model)),
  embed,
  isItsError,
};

export const aiOpenAiChat: Library = {
  name: 'ai with @ai-sdk/openai over .chat()',
  speaks: 'openai',
  connect: (place, model) => clientOf(ofOpenAi(place).chat(model)),
  isItsError,
};

export const aiAnthropic: Library = {
  name: 'ai with @ai-sdk/anthropic',
  speaks: 'anthropic',
  connect: ({ url, key }, model) => clientOf(createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(model)),
  isItsError,
};
