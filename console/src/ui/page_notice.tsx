// A notice below the name of every page: something about all of them, as a contract that has ended.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

export const PageNotice = createContext<string | undefined | null>(undefined);

/** The place where it stands; there before the notice is, so that its coming is told. */
export function PageNoticeHere() {
  const notice = useContext(PageNotice);
  return (
    <p class={notice ? 'banner' : 'visually-hidden'} role="status">
      {notice}
    </p>
  );
}
