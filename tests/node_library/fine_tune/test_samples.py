# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From rows to samples: the columns that are found, long contexts, labels, and what is wrong with a file."""

import pytest
import transformers

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune import classification, language, question_answering, sequences
from gaudi3_scale.fine_tune.labels import labels_in
from gaudi3_scale.fine_tune.options import JobArguments
from gaudi3_scale.fine_tune.records import read_images, read_rows


@pytest.fixture(scope="module")
def tokenizer(parts):
    return transformers.AutoTokenizer.from_pretrained(parts / "models" / "bert")


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"text": "a\u2028b", "label": 0}\n\n{"text": "c", "label": 1}\n'),
        ("a.json", '[{"text": "a\u2028b", "label": 0}, {"text": "c", "label": 1}]'),
        ("squad.json", '{"version": "1.1", "data": [{"text": "a\u2028b", "label": 0}, {"text": "c", "label": 1}]}'),
        ("a.csv", 'text,label\n"a\u2028b",0\nc,1\n'),
    ],
)
def test_every_form_of_a_file_has_the_same_rows(tmp_path, name, text):
    rows = read_rows("--train_file", write(tmp_path / name, text), None)
    assert [(row["text"], int(row["label"])) for row in rows] == [("a\u2028b", 0), ("c", 1)]
    assert len(read_rows("--train_file", str(tmp_path / name), 1)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "--train_file .* cannot be read: .*No such file"),
        ("", "--train_file .* has no rows"),
        ('{"a": 1}\n{"a": \n', "line 2, is not JSON"),
        ('{"a": 1}\n7\n', "line 2, is not an object"),
        ("[1, 2]", "is no list of rows"),
    ],
)
def test_a_file_that_is_not_rows_is_one_sentence(tmp_path, text, said):
    path = tmp_path / "a.jsonl"
    if text is not None:
        write(path, text)
    with pytest.raises(GaudiError, match=said):
        read_rows("--train_file", str(path), None)


def test_images_have_their_directory_as_their_label(parts, tmp_path):
    rows = read_images("--train_dir", str(parts / "data" / "images"), 40)
    assert [row["label"] for row in rows] == ["dark"] * 32 + ["light"] * 8
    with pytest.raises(GaudiError, match=r"--train_dir .* has no images; put them into one directory per label"):
        read_images("--train_dir", str(tmp_path), None)


def test_a_column_that_is_not_there_is_named(tokenizer):
    with pytest.raises(
        GaudiError, match=r"Not every row has one of text; the first one has body. Name the column with --"
    ):
        language.blocks([{"body": "fox"}], tokenizer, JobArguments(), 8)
    with pytest.raises(GaudiError, match="fewer than --block_size 8"):
        language.blocks([{"body": "fox"}], tokenizer, JobArguments(text_column="body"), 8)


@pytest.mark.parametrize("side", ["right", "left"])
def test_an_answer_is_found_in_each_window_that_has_it(tokenizer, side):
    """Held against the words themselves, for contexts that need several windows."""
    context = "the quick brown fox jumps over a lazy dog and runs away from hens"
    found_at = context.index("lazy")
    rows = [
        {"question": "fox", "context": context, "answers": {"text": ["lazy dog"], "answer_start": [found_at]}},
        {"question": "fox", "context": context, "answers": {"text": [], "answer_start": []}},
    ]
    tokenizer.padding_side, before = side, tokenizer.padding_side
    try:
        samples = question_answering.windows(rows, tokenizer, JobArguments(doc_stride=3), 10)
    finally:
        tokenizer.padding_side = before
    assert len(samples) > 4 and {len(one["input_ids"]) for one in samples} == {10}
    found = [tokenizer.decode(one["input_ids"][one["start_positions"] : one["end_positions"] + 1]) for one in samples]
    assert "lazy dog" in found
    for one, answer in zip(samples[: len(samples) // 2], found):
        assert answer == ("lazy dog" if "lazy dog" in tokenizer.decode(one["input_ids"]) else "[CLS]")
    assert found[len(samples) // 2 :] == ["[CLS]"] * (len(samples) // 2)


def test_a_words_first_token_has_its_label(tokenizer):
    labels = labels_in(["O", "B"], transformers.PretrainedConfig())
    rows = [{"tokens": ["fox", "runs", "away"], "ner_tags": ["B", "O", "O"]}]
    (sample,) = classification.tokens(rows, tokenizer, JobArguments(pad_to_max_length=False), labels, 8)
    assert sample["labels"] == [-100, 0, 1, 1, -100]
    with pytest.raises(GaudiError, match="Row 1 has not as many values in ner_tags as in tokens"):
        classification.tokens([{"tokens": ["fox"], "ner_tags": []}], tokenizer, JobArguments(), labels, 8)


def test_labels_are_numbered_as_the_model_has_them_else_in_order():
    fresh, trained = transformers.PretrainedConfig(), transformers.PretrainedConfig(num_labels=2)
    labels_in(["yes", "no"], fresh).told_to(fresh)
    assert fresh.label2id == {"no": 0, "yes": 1} and fresh.num_labels == 2
    # The validation of a trained model need not have all labels.
    assert labels_in(["yes"], fresh).of("yes") == 1
    labels = labels_in([2, 0], trained)
    assert [labels.of(number) for number in (0, 1, 2)] == [0, 1, 2]
    with pytest.raises(GaudiError, match="has the label 'maybe', which is not one of no, yes"):
        labels_in(["yes"], fresh).of("maybe")
    scores = labels_in([0.5, 4.0], trained)
    scores.told_to(trained)
    assert (scores.of(4.0), trained.num_labels, trained.problem_type) == (4.0, 1, "regression")


def test_padding_of_a_target_does_not_count(tokenizer):
    rows = [{"translation": {"en": "fox", "ro": "lazy dog"}}]
    pairs = sequences.translations(rows, JobArguments(source_lang="en", target_lang="ro"))
    job = JobArguments(source_prefix="the ", max_target_length=6)
    (sample,) = sequences.samples(pairs, tokenizer, job, 8)
    assert tokenizer.decode(sample["input_ids"], skip_special_tokens=True) == "the fox"
    assert sample["labels"][-2:] == [-100, -100] and len(sample["labels"]) == 6
    with pytest.raises(GaudiError, match="needs --source_lang and --target_lang"):
        sequences.translations(rows, JobArguments(source_lang="en"))


def test_two_texts_are_a_pair(tokenizer):
    rows = [{"sentence1": "fox", "sentence2": "dog", "label": "x"}]
    labels = labels_in(["x"], transformers.PretrainedConfig())
    (sample,) = classification.texts(rows, tokenizer, JobArguments(pad_to_max_length=False), labels, 8)
    assert tokenizer.decode(sample["input_ids"]) == "[CLS] fox [SEP] dog [SEP]" and sample["labels"] == 0
