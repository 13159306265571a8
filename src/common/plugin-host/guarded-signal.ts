type Report = (thrown: unknown) => void;
type Listener = Parameters<AbortSignal['addEventListener']>[1];
type Options = Parameters<AbortSignal['addEventListener']>[2];

/** Calls `listener`; `report` gets the error that it throws or rejects with. */
export function guard(listener: () => unknown, report: Report): void {
  try {
    const later = listener();
    if (later instanceof Promise) later.then(undefined, report);
  } catch (thrown) {
    report(thrown);
  }
}

/**
 * Makes the listeners of `signal` report their errors. An EventTarget would turn them into uncaught exceptions, which
 * would end the process for an error in one request's listener. Returns the same signal.
 */
export function guardListeners(signal: AbortSignal, report: Report): AbortSignal {
  const guarded =
    (listener: Listener) =>
    (event: Event): void =>
      guard(
        () => (typeof listener === 'function' ? listener.call(signal, event) : listener.handleEvent(event)),
        report,
      );
  // Weak: Node references some of its own listeners weakly, and a wrapper must live exactly as long as its listener.
  const wrappers = new WeakMap<object, (event: Event) => void>();
  const wrap = (listener: Listener): ((event: Event) => void) => {
    const wrapper = wrappers.get(listener) ?? guarded(listener);
    wrappers.set(listener, wrapper);
    return wrapper;
  };
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  let onabort: AbortSignal['onabort'] = null;
  let onabortWrapper: ((event: Event) => void) | null = null;
  return Object.defineProperties(signal, {
    addEventListener: {
      value: (type: string, listener: Listener | null, options?: Options): void => {
        if (listener !== null) add(type, wrap(listener), options);
      },
    },
    removeEventListener: {
      value: (type: string, listener: Listener | null, options?: Options): void => {
        if (listener !== null) remove(type, wrap(listener), options);
      },
    },
    onabort: {
      get: () => onabort,
      set(listener: AbortSignal['onabort']) {
        if (onabortWrapper !== null) remove('abort', onabortWrapper);
        onabort = listener;
        onabortWrapper = listener === null ? null : guarded(listener);
        if (onabortWrapper !== null) add('abort', onabortWrapper);
      },
    },
  });
}
