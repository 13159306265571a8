import type { Format } from '../../src/common/core/endpoint.js';

/** A chat API as its client sees it. */
export interface ClientApi {
  readonly name: string;
  readonly format: Format;
  /** Providers that speak its format, and another one. */
  readonly native: string;
  readonly other: string;
  /** The member of a body that holds the conversation. */
  readonly messages: string;
  /** Of every answer to it by the simulated provider. */
  readonly said: string;
  /** What only a stream that came whole holds. */
  readonly end: RegExp;
  path(stream: boolean): string;
  body(stream: boolean, prompt?: string): Record<string, unknown>;
  /** Is it an error as this API writes one? */
  isError(body: unknown, status: number): boolean;
  /** Is it the event (its whole frame) by which this API breaks a stream off? */
  isErrorEvent(frame: string): boolean;
}

const said = 'Hello out there';

interface OpenAiError {
  readonly error?: { message?: unknown; type?: unknown; code?: unknown };
}

const isOpenAiError = (body: unknown): boolean => {
  const { error } = body as OpenAiError;
  return typeof error?.message === 'string' && typeof error.type === 'string' && error.code !== undefined;
};

const dataOf = (frame: string): unknown => JSON.parse(/^data: ?(.*)$/m.exec(frame)?.[1] ?? 'null');

export const clientApis: readonly ClientApi[] = [
  {
    name: '/v1/chat/completions',
    format: 'openai-chat',
    native: 'openai',
    other: 'anthropic',
    messages: 'messages',
    said,
    end: /\[DONE\]/,
    path: () => '/v1/chat/completions',
    body: (stream, prompt = said) => ({
      model: 'some-model',
      stream,
      messages: [{ role: 'user', content: prompt }],
    }),
    isError: isOpenAiError,
    isErrorEvent: (frame) => isOpenAiError(dataOf(frame)),
  },
  {
    name: '/v1/messages',
    format: 'anthropic-messages',
    native: 'anthropic',
    other: 'openai',
    messages: 'messages',
    said,
    end: /message_stop/,
    path: () => '/v1/messages',
    body: (stream, prompt = said) => ({
      model: 'some-model',
      stream,
      max_tokens: 256,
      messages: [{ role: 'user', content: prompt }],
    }),
    isError: isAnthropicError,
    isErrorEvent: (frame) => frame.startsWith('event: error\n') && isAnthropicError(dataOf(frame)),
  },
  {
    name: '/v1/responses',
    format: 'openai-responses',
    native: 'openai',
    other: 'anthropic',
    messages: 'input',
    said,
    end: /response\.completed/,
    path: () => '/v1/responses',
    body: (stream, prompt = said) => ({
      model: 'some-model',
      stream,
      input: [{ role: 'user', content: prompt }],
    }),
    isError: isOpenAiError,
    isErrorEvent: (frame) =>
      frame.startsWith('event: error\n') &&
      typeof (dataOf(frame) as { message?: unknown }).message === 'string',
  },
  {
    name: '/v1beta/models/…',
    format: 'gemini-generate-content',
    native: 'gemini',
    other: 'openai',
    messages: 'contents',
    said,
    end: /"finishReason":"STOP"/,
    path: (stream) =>
      `/v1beta/models/some-model:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (_stream, prompt = said) => ({ contents: [{ role: 'user', parts: [{ text: prompt }] }] }),
    isError: isGeminiError,
    isErrorEvent: (frame) => isGeminiError(dataOf(frame)),
  },
];

function isAnthropicError(body: unknown): boolean {
  const { type, error } = body as { type?: unknown } & OpenAiError;
  return type === 'error' && typeof error?.type === 'string' && typeof error.message === 'string';
}

function isGeminiError(body: unknown, status?: number): boolean {
  const { error } = body as { error?: { code?: unknown; message?: unknown; status?: unknown } };
  return (
    typeof error?.message === 'string' &&
    typeof error.status === 'string' &&
    (status === undefined ? typeof error.code === 'number' : error.code === status)
  );
}
