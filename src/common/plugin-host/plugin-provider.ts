import type { Format } from '../core/endpoint.js';

/** A provider whose API is one of the formats that the gateway speaks. */
export interface PluginProvider {
  /** Base URL, version segment included, no slash at the end. */
  readonly base: string;
  /** How it wants its credential: as `Authorization: Bearer`, in a header of that name, or not at all. */
  readonly auth: 'bearer' | 'none' | { readonly header: string };
  /** Format → path below `base`: `{ 'openai-chat': '/chat/completions' }`. */
  readonly paths: Readonly<Partial<Record<Format, string>>>;
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly doc: string;
}
