import "driver.js/dist/driver.css";
import "./tour.css";
import { driver, type DriveStep } from "driver.js";
import { go } from "../../navigation/address";
import { provenanceOf } from "../../graph/places";
import { addressOf } from "../../graph/view";
import { TOUR } from "../../strings/tour";

const FORECAST = "dataset:hive://lake:9083:nyc_taxi.yellow_rides_hourly_forecast";

interface TourStep {
  address: string;
  element: string;
  words: { title: string; text: string };
}

const STEPS: readonly TourStep[] = [
  { address: "/", element: "main search", words: TOUR.search },
  { address: "/", element: "#problems", words: TOUR.problems },
  { address: addressOf(FORECAST), element: "[role=region][aria-busy=false]", words: TOUR.graph },
  { address: addressOf(FORECAST), element: "#timeline", words: TOUR.timeline },
  { address: provenanceOf(FORECAST), element: "main header", words: TOUR.provenance },
];
/** The time limit for a step's element to appear. */
const WAIT_MS = 10_000;

/** Start the guided tour. It is a dialog with the arrow keys, Tab and Escape. */
export function startTour(): void {
  const size = new ResizeObserver(() => tour.refresh());
  const tour = driver({
    steps: STEPS.map(stepOf),
    animate: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    waitForElement: WAIT_MS,
    showProgress: true,
    progressText: TOUR.progress,
    nextBtnText: TOUR.next,
    prevBtnText: TOUR.back,
    doneBtnText: TOUR.done,
    overlayClickBehavior: () => undefined, // a click outside the dialog would end the tour
    onPopoverRender: ({ closeButton, title, footer }) => {
      // Driver's <header> and <footer> would become landmarks of the page.
      title.setAttribute("role", "presentation");
      footer.setAttribute("role", "presentation");
      closeButton.textContent = TOUR.skip;
      closeButton.removeAttribute("aria-label");
    },
    onHighlighted: (element, _step, { state }) => {
      size.disconnect(); // views grow while they load
      if (element) size.observe(element);
      state.popover?.nextButton.focus();
    },
    onDestroyed: () => size.disconnect(),
    onNextClick: () => move(1),
    onPrevClick: () => move(-1),
    onDoneClick: () => tour.destroy(),
  });
  const move = (by: number) => {
    const next = (tour.getActiveIndex() ?? 0) + by;
    const step = STEPS[next];
    if (!step) return;
    go(step.address);
    tour.moveTo(next);
  };
  go("/", true);
  tour.drive();
}

function stepOf({ element, words }: TourStep): DriveStep {
  return { element, popover: { title: words.title, description: words.text } };
}
