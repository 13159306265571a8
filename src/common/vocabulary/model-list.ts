import { GatewayError } from '../core/errors.js';

/** A call for the models that its key may use; the control process answers it. Plain JSON. */
export interface ModelsQuestion {
  readonly organisation: string;
  /** null: the key is the organisation's. */
  readonly workspace: string | null;
  /** Whose clients read the answer. */
  readonly shape: 'openai' | 'anthropic' | 'gemini';
  /** `@slug/model`; null: the list is asked for. */
  readonly id: string | null;
  /** Of the call, without `?`. */
  readonly query: string;
}

/** A body, JSON text; or why there is none. */
export type ModelsAnswer =
  | { readonly body: string }
  | {
      readonly code: 'invalid_request' | 'not_found';
      readonly message: string;
      readonly param: string;
    };

const one = /^\/v1(?:beta)?\/models\/(.+)$/s;

/** The id in the path of a model, unescaped; null: it is another path. Throws `invalid_request`. */
export function modelIdIn(path: string): string | null {
  const id = one.exec(path)?.[1];
  if (id === undefined) return null;
  try {
    return decodeURIComponent(id);
  } catch (cause) {
    throw new GatewayError(
      'invalid_request',
      'The model in the path is not percent-encoded UTF-8: escape it as a URL needs it.',
      { param: 'model', cause },
    );
  }
}
