import { GatewayError } from '../../../common/core/errors.js';
import type { ProviderDefinition, RowCall } from '../provider.js';

/** Google AI Studio. The model is in the address. */
export const google: ProviderDefinition = {
  name: 'google',
  base: 'https://generativelanguage.googleapis.com/v1beta',
  // The key may be in the query as well, where logs and proxies would see it.
  auth: { kind: 'header', name: 'x-goog-api-key' },
  paths: {
    'gemini-generate-content': '/models/{model}:generateContent',
    'gemini-count-tokens': '/models/{model}:countTokens',
    'gemini-embed-content': '/models/{model}:embedContent',
    'gemini-batch-embed-contents': '/models/{model}:batchEmbedContents',
  },
  forCall,
  source: 'https://ai.google.dev/api',
};

function forCall({ format, model, streaming }: RowCall): ProviderDefinition {
  if (format === 'none') return google;
  const path = `/${geminiModel(model)}`;
  return {
    ...google,
    paths: {
      'gemini-generate-content': `${path}:${generateContent(streaming)}`,
      'gemini-count-tokens': `${path}:countTokens`,
      'gemini-embed-content': `${path}:embedContent`,
      'gemini-batch-embed-contents': `${path}:batchEmbedContents`,
    },
  };
}

/** A stream comes as one JSON array unless events are asked for. */
export const generateContent = (streaming: boolean): string =>
  streaming ? 'streamGenerateContent?alt=sse' : 'generateContent';

/** `gemini-2.5-flash` → `models/gemini-2.5-flash`; a name with its collection stays as it is. */
export function geminiModel(model: string | null): string {
  const segments = modelSegments(model);
  return segments.length === 1 ? `models/${segments[0]}` : segments.join('/');
}

/** A model's name as segments of a path. Throws `invalid_request` where there is none, or one that climbs. */
export function modelSegments(model: string | null): string[] {
  const segments = model?.split('/') ?? [];
  if (segments.length === 0 || segments.some((segment) => segment === '' || /^\.+$/.test(segment))) {
    throw new GatewayError(
      'invalid_request',
      'model must be the name of a model: it is part of the address here.',
      {
        param: 'model',
      },
    );
  }
  // Versions of Claude follow an @, which may stay.
  return segments.map((segment) => encodeURIComponent(segment).replaceAll('%40', '@'));
}
