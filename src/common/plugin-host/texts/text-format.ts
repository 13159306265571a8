import type { JsonObject } from '../../core/exchange.js';
import type { FoundText } from './found-text.js';

/** The texts of a request. */
export interface RequestTexts {
  readonly texts: readonly FoundText[];
  /** Index of the last message, whether it has texts or not; -1: there is none. */
  readonly last: number;
}

/** A text in an event of a stream. */
export interface EventText extends FoundText {
  /** Names it within the stream; ends in a slash, as do the names of what it belongs to: `0/content/` is of `0/`. */
  readonly key: string;
  /** Is it the whole text, which came in pieces before? */
  readonly whole?: true;
}

/** The texts of an event, and those that it ends. */
export interface EventTexts {
  readonly texts: readonly EventText[];
  /** Beginnings of the keys of texts that end with this event, or have ended before it. '': all. */
  readonly ends: readonly string[];
}

/** Where a wire format has its texts: a file of `formats/`. */
export interface TextFormat {
  request?(json: JsonObject): RequestTexts;
  answer?(json: JsonObject): readonly FoundText[];
  readonly stream?: {
    event(json: JsonObject): EventTexts;
    /** An event with this text alone, made of an earlier one that had a piece of it there. */
    piece(json: JsonObject, at: EventText, text: string): JsonObject;
    /** Do later events repeat whole texts? */
    readonly repeats?: true;
  };
}

export const nothing: EventTexts = { texts: [], ends: [] };
