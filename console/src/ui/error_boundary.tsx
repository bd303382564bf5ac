// An error boundary: shows a message in place of a part that failed to draw, never a blank page.
import { Component, type ComponentChildren } from 'preact';

interface ErrorBoundaryProps {
  /** The current page: a new page is a new attempt. */
  at?: string;
  children: ComponentChildren;
}

export class ErrorBoundary extends Component<ErrorBoundaryProps, { failed: boolean }> {
  override state = { failed: false };

  static override getDerivedStateFromError() {
    return { failed: true };
  }
  override componentDidCatch(error: unknown): void {
    // For developers; the page shows no details.
    console.error(error);
  }
  override componentDidUpdate(before: ErrorBoundaryProps): void {
    if (before.at !== this.props.at && this.state.failed) this.setState({ failed: false });
  }
  override render({ children }: ErrorBoundaryProps, { failed }: { failed: boolean }) {
    if (!failed) return children;
    return (
      <main class="page" id="main" role="alert">
        <h1>Something went wrong</h1>
        <p>This page has an error. Your earlier changes are saved.</p>
        <p>
          <button type="button" class="button primary" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      </main>
    );
  }
}
