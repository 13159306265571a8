/** Bytes (UTF-8) of a text that a `text` hook may hold back. */
export const maxHeldBytes = 16 * 1024;
/** Milliseconds for which it holds them back, unless it sets another time. */
export const defaultHeldMs = 1000;
/** The longest time that it may set. */
export const maxHeldMs = 10_000;

export type TextRole = 'system' | 'user' | 'assistant' | 'tool';

/** `content`: the message itself. `arguments`: the JSON text that a tool is called with, which comes as text in some formats only. */
export type TextKind = 'content' | 'thinking' | 'refusal' | 'arguments';

/** A text of a request or an answer, or the next piece of one that is streamed. The same for every wire format. */
export interface TextPiece {
  readonly where: 'request' | 'answer';
  readonly role: TextRole;
  readonly part: TextKind;
  /** Of the message (`request`; -1: beside the messages, as a system prompt) or of the choice (`answer`), from 0. */
  readonly index: number;
  /** Names the text within its request or answer: all pieces of one text have the same. */
  readonly id: string;
  /** Does it belong to a streamed answer? */
  readonly streamed: boolean;
  /** The whole text; of a streamed one what was held back of it, then what has arrived. */
  readonly text: string;
  /** Is this the end of its text? */
  readonly last: boolean;
  /** May a part of it be held back? Not of a whole text, at the end of one, or when the time for that is over. */
  readonly canHold: boolean;
  /** The hook's own memory of this text: the same object for all pieces, empty at first. */
  readonly memory: Record<string, unknown>;
}

/** A changed piece of which the end is held back. */
export interface HeldText {
  /** Goes on now; '' if all is held back. */
  readonly text: string;
  /** Comes again in front of the next piece: at most 16 KiB. */
  readonly held: string;
  /** Milliseconds until it comes again even if no piece has arrived, with `canHold: false`. Default 1000, at most 10000. */
  readonly ms?: number;
}

/** A string: the text in place of this one. Nothing: it goes on as it is. */
export type TextResult = string | HeldText | undefined;
