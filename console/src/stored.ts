// The browser's storage. A browser that blocks cookies throws at each access; the console works
// there, too, and stores nothing.

interface Stored {
  /** Null: nothing is stored. */
  get: (key: string) => string | null;
  set: (key: string, value: string) => void;
  remove: (key: string) => void;
}

function storedIn(storage: () => Storage): Stored {
  const attempt = <T>(act: () => T): T | null => {
    try {
      return act();
    } catch {
      return null;
    }
  };
  return {
    get: (key) => attempt(() => storage().getItem(key)),
    set: (key, value) => attempt(() => storage().setItem(key, value)),
    remove: (key) => attempt(() => storage().removeItem(key)),
  };
}

/** Until the user deletes it. */
export const inBrowser = storedIn(() => localStorage);

/** In this tab, until it is closed. */
export const inTab = storedIn(() => sessionStorage);
