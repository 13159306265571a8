import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** What a client says, and `connect` and `.` for the begin of the connection and the end of a text. */
export type SmtpStep =
  | 'connect'
  | 'EHLO'
  | 'HELO'
  | 'MAIL'
  | 'RCPT'
  | 'DATA'
  | '.'
  | 'QUIT'
  | 'AUTH'
  | 'STARTTLS';

/** The reply to a step in place of the usual one; null: none. A function may do what it wants with the connection. */
export type SmtpReply = string | null | ((socket: Socket) => void);

const usual: Readonly<Record<string, string>> = { connect: '220 fake', DATA: '354 go on', QUIT: '221 bye' };

/** A mail server of any manners, for what `smtp-server` does not do. */
export class ScriptedSmtp {
  /** Recipients and ids of the mails whose text has arrived, in order; those that are answered 250 or not. */
  readonly arrived: { readonly to: string; readonly id: string; readonly accepted: boolean }[] = [];
  /** Steps, as they came. */
  readonly steps: string[] = [];
  connections = 0;
  /** Called for each step; undefined: the usual reply. */
  script: (step: SmtpStep, connection: number) => SmtpReply | undefined = () => undefined;
  /** Milliseconds between the bytes of each reply. */
  pauseMs = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
  }

  async start(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return this;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get accepted(): string[] {
    return this.arrived
      .filter(({ accepted }) => accepted)
      .map(({ to }) => to)
      .sort();
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #serve(socket: Socket): void {
    const connection = ++this.connections;
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    let inText = false;
    let rest = '';
    let to = '';
    let id = '';
    const reply = (step: SmtpStep): string => {
      this.steps.push(step);
      const given = this.script(step, connection);
      if (typeof given === 'function') {
        given(socket);
        return '';
      }
      const text = given === undefined ? (usual[step] ?? '250 ok') : given;
      if (text !== null) this.#say(socket, `${text}\r\n`);
      return text ?? '';
    };
    reply('connect');
    socket.on('data', (bytes) => {
      rest += bytes.toString('latin1');
      const lines = rest.split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (inText) {
          id = /^message-id: (.*)$/i.exec(line)?.[1] ?? id;
          if (line !== '.') continue;
          inText = false;
          this.arrived.push({ to, id, accepted: reply('.').startsWith('250') });
          continue;
        }
        const step = (line.split(' ')[0] ?? '').toUpperCase() as SmtpStep;
        if (step === 'RCPT') to = /<(.*)>/.exec(line)?.[1] ?? '';
        inText = reply(step).startsWith('354');
      }
    });
  }

  #say(socket: Socket, text: string): void {
    if (this.pauseMs === 0) return void socket.write(text);
    let at = 0;
    const timer = setInterval(() => {
      if (socket.destroyed || at === text.length) return clearInterval(timer);
      socket.write(text[at++]!);
    }, this.pauseMs);
  }
}

/** Sends this without end, as fast as it is taken. */
export const flood =
  (piece: string) =>
  (socket: Socket): void => {
    const bytes = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
    const more = (): void => {
      while (!socket.destroyed && socket.write(bytes));
      socket.once('drain', more);
    };
    more();
  };
