/** A piece of JavaScript: as much as is needed to find imports and exports in it. */
export interface Token {
  readonly kind: 'word' | 'mark' | 'text' | 'number';
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Brackets that are open around it. */
  readonly depth: number;
  /** Does a line end between the token before and this one? */
  readonly onNewLine: boolean;
}

/** After these words a slash begins a regular expression. */
const beforeExpression = new Set(
  'return typeof instanceof in of new delete void throw case do else yield await default'.split(' '),
);
const beforeBlock = new Set(['else', 'do', 'try', 'finally']);
const withCondition = new Set(['if', 'while', 'for', 'with']);

interface Open {
  readonly mark: string;
  /** Begins a statement after it, so that a slash there begins a regular expression. */
  readonly isStatement: boolean;
}

/** The tokens of a file that can be compiled; of another one, some tokens. Comments and white space are left out. */
export function tokensOf(code: string): Token[] {
  return new Tokens(code).all();
}

const space = /[\s\ufeff]/;
const wordStart = /[\p{ID_Start}$_#\\]/u;
const word = /(?:[\p{ID_Continue}$\\]|\u200c|\u200d)+/uy;
const number = /[0-9.](?:[0-9a-zA-Z_.]|(?<=[eE])[+-])*/y;
const marks = ['...', '=>', '++', '--', '?.'];

class Tokens {
  readonly #found: Token[] = [];
  readonly #open: Open[] = [];
  /** The bracket that was closed last. */
  #closed: Open = { mark: '', isStatement: true };
  #at = 0;
  #onNewLine = true;

  constructor(readonly code: string) {}

  all(): Token[] {
    if (this.code.startsWith('#!')) this.#skipLine();
    while (this.#at < this.code.length) this.#next();
    return this.#found;
  }

  #next(): void {
    const { code } = this;
    const at = this.#at;
    const character = code[at]!;
    if (space.test(character)) {
      if (character === '\n' || character === '\r' || character === '\u2028' || character === '\u2029')
        this.#onNewLine = true;
      this.#at++;
    } else if (character === '/' && code[at + 1] === '/') this.#skipLine();
    else if (character === '/' && code[at + 1] === '*') this.#skipComment();
    else if (character === '"' || character === "'") this.#text(this.#endOfString(character));
    else if (character === '`') this.#template();
    else if (character === '}' && this.#open.at(-1)?.mark === '`') {
      this.#open.pop();
      this.#template();
    } else if (character === '/' && this.#isRegex()) this.#text(this.#endOfRegex());
    else if (/[0-9]/.test(character) || (character === '.' && /[0-9]/.test(code[at + 1] ?? '')))
      this.#take('number', this.#match(number));
    else if (wordStart.test(String.fromCodePoint(code.codePointAt(at)!)))
      this.#take('word', character === '#' ? `#${this.#match(word, at + 1)}` : this.#match(word));
    else this.#mark();
  }

  #match(pattern: RegExp, at = this.#at): string {
    pattern.lastIndex = at;
    return pattern.exec(this.code)?.[0] ?? '';
  }

  #take(kind: Token['kind'], text: string): void {
    const start = this.#at;
    this.#at = start + Math.max(1, text.length);
    this.#found.push({
      ...{ kind, text, start, end: this.#at },
      ...{ depth: this.#open.length, onNewLine: this.#onNewLine },
    });
    this.#onNewLine = false;
  }

  #text(end: number): void {
    this.#take('text', this.code.slice(this.#at, end));
  }

  #mark(): void {
    const { code } = this;
    const text = marks.find((mark) => code.startsWith(mark, this.#at)) ?? code[this.#at]!;
    if (text === ')' || text === ']' || text === '}') {
      this.#closed = this.#open.pop() ?? { mark: '', isStatement: true };
      this.#take('mark', text);
      return;
    }
    const before = this.#found.at(-1);
    this.#take('mark', text);
    if (text === '(') this.#push(text, before?.kind === 'word' && withCondition.has(before.text));
    else if (text === '[') this.#push(text, false);
    else if (text === '{') this.#push(text, this.#beginsBlock(before));
  }

  #push(mark: string, isStatement: boolean): void {
    this.#open.push({ mark, isStatement });
  }

  #beginsBlock(before: Token | undefined): boolean {
    if (before === undefined) return true;
    if (before.kind === 'word') return beforeBlock.has(before.text) || !beforeExpression.has(before.text);
    if (before.kind !== 'mark') return false;
    if (before.text === '}') return this.#closed.isStatement;
    return [';', '{', ')', '=>'].includes(before.text);
  }

  #isRegex(): boolean {
    const before = this.#found.at(-1);
    if (before === undefined) return true;
    if (before.kind === 'word') return beforeExpression.has(before.text) && this.#found.at(-2)?.text !== '.';
    if (before.kind !== 'mark') return false;
    if (before.text === ')' || before.text === '}') return this.#closed.isStatement;
    return before.text !== ']' && before.text !== '++' && before.text !== '--';
  }

  #skipLine(): void {
    const end = /[\n\r\u2028\u2029]/g;
    end.lastIndex = this.#at;
    this.#at = end.exec(this.code)?.index ?? this.code.length;
  }

  #skipComment(): void {
    const end = this.code.indexOf('*/', this.#at + 2);
    const last = end < 0 ? this.code.length : end + 2;
    if (/[\n\r\u2028\u2029]/.test(this.code.slice(this.#at, last))) this.#onNewLine = true;
    this.#at = last;
  }

  #endOfString(quote: string): number {
    let at = this.#at + 1;
    while (at < this.code.length && this.code[at] !== quote && this.code[at] !== '\n')
      at += this.code[at] === '\\' ? 2 : 1;
    return at + 1;
  }

  #endOfRegex(): number {
    let inClass = false;
    let at = this.#at + 1;
    for (; at < this.code.length; at++) {
      const character = this.code[at];
      if (character === '\\') at++;
      else if (character === '[') inClass = true;
      else if (character === ']') inClass = false;
      else if (character === '\n' || (character === '/' && !inClass)) break;
    }
    at++;
    while (/[a-z]/i.test(this.code[at] ?? '')) at++;
    return at;
  }

  /** From its beginning, or from the end of a value in it, to its end or the next value. */
  #template(): void {
    let at = this.#at + 1;
    while (at < this.code.length && this.code[at] !== '`' && !this.code.startsWith('${', at))
      at += this.code[at] === '\\' ? 2 : 1;
    const hasValue = this.code[at] === '$';
    this.#text(at + (hasValue ? 2 : 1));
    if (!hasValue) return;
    this.#push('`', false);
    // A value begins like an expression in brackets.
    this.#found.push({ ...this.#found.pop()!, kind: 'mark', text: '(' });
  }
}
